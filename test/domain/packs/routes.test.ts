import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  findRouteMismatches,
  memberAliases,
  parseRoutes,
  findRouteConflicts
} from "../../../src/domain/packs/routes.ts"

const params = { type: "object", properties: { url: { type: "string" } } }
const errorOf = (entry: unknown) => {
  const { errors, routes } = parseRoutes("pack", [entry])
  assert.deepStrictEqual(routes, [])
  assert.lengthOf(errors, 1)
  return errors[0] ?? ""
}

describe("declared route", () => {
  it("calls the tool named like its pack, with JSON", () => {
    assert.deepStrictEqual(parseRoutes("fetch", { endpoint: "/tools/fetch", params }), {
      routes: [{ endpoint: "/tools/fetch", tool: "fetch", useForm: false, params }],
      errors: [],
      warnings: []
    })
  })

  it.each([
    { endpoint: "/tools/a/b", params, useForm: true, toolName: "b" },
    { endpoint: "/tools/a/b", paramsClass: params, useForm: true, toolName: "b" },
    { endpoint: "/tools/a/b", params_class: params, use_form: true, tool_name: "b" },
    { endpoint: "/tools/a/b", params, paramsClass: params, use_form: true, useForm: true, tool_name: "b" }
  ])("accepts the names of the seed: %j", (entry) => {
    assert.deepStrictEqual(parseRoutes("a", [entry]), {
      routes: [{ endpoint: "/tools/a/b", tool: "b", useForm: true, params }],
      errors: [],
      warnings: []
    })
  })

  it("keeps its schema unchanged", () => {
    class Params {}
    assert.strictEqual(parseRoutes("a", { endpoint: "/a", params: Params }).routes[0]?.params, Params)
  })

  it("needs no other routes in its pack", () => {
    assert.deepStrictEqual(parseRoutes("a", []), { routes: [], errors: [], warnings: [] })
  })

  it("normalizes its endpoint like requests", () => {
    assert.strictEqual(parseRoutes("a", { endpoint: "/工具", params }).routes[0]?.endpoint, "/%E5%B7%A5%E5%85%B7")
  })

  it.each([
    [{ params }, /route 1: it has no 'endpoint'/],
    [{ endpoint: "/a" }, /it has no 'params'/],
    [{ endpoint: "/a", params: null }, /it has no 'params'/],
    [{ endpoint: 7, params }, /'endpoint' must be a string/],
    [{ endpoint: "/a", params, toolName: 7 }, /'toolName' must be a non-empty string/],
    [{ endpoint: `/${"a".repeat(256)}`, params }, /longer than 256/],
    [{ endpoint: `x${"a".repeat(99)}`, params }, /^route 1 \(xa{63}\): /],
    [{ endpoint: "", params }, /start with '\/'/],
    [{ endpoint: "tools/a", params }, /route 1 \(tools\/a\): .*start with '\/'/],
    [{ endpoint: "/a//b", params }, /contains '\/\/'/],
    [{ endpoint: "/a/", params }, /must not end with '\/'/],
    [{ endpoint: "/a/execute", params }, /must not end with '\/execute'/],
    [{ endpoint: "/a?b=1", params }, /'\?' or '#'/],
    [{ endpoint: "/a#b", params }, /'\?' or '#'/],
    [{ endpoint: "/a/../b", params }, /'\.\.' as a segment/],
    [{ endpoint: "/a/.", params }, /'\.' or '\.\.'/],
    [{ endpoint: "/a/%2e%2e", params }, /contains '%'/],
    [{ endpoint: "/a/{id}", params }, /variable parts/],
    [{ endpoint: "/a/:id", params }, /variable parts/],
    [{ endpoint: "/a\\b", params }, /invalid in a path/],
    [{ endpoint: "/a b", params }, /invalid in a path/],
    [{ endpoint: "/a\n", params }, /invalid in a path/],
    [{ endpoint: "/\ud800", params }, /invalid in a path/],
    [{ endpoint: `/${"a".repeat(256)}`, params }, /longer than 256/],
    [{ endpoint: "/a", params, useForm: "yes" }, /must be true or false/],
    [{ endpoint: "/a", params, toolName: "" }, /'toolName' must be/],
    [{ endpoint: "/a", params, useForm: true, use_form: false }, /'useForm' and 'use_form' have different/],
    [7, /it must be an object/],
    [null, /it must be an object/],
    [[], /it must be an object/]
  ])("says why it is invalid: %j", (entry, words) => {
    assert.match(errorOf(entry), words)
  })

  it.each(["/", "/health", "/tools", "/mcp", "/docs", "/redoc", "/openapi.json", "/favicon.ico"])(
    "cannot use the reserved endpoint %s",
    (endpoint) => {
      assert.match(errorOf({ endpoint, params }), /reserved by the host/)
    }
  )

  it("affects no other route when it is invalid; the first of two with one endpoint wins", () => {
    const good = { endpoint: "/a", params }
    const { errors, routes } = parseRoutes("a", [good, {}, { ...good, toolName: "b" }])
    assert.deepStrictEqual(
      routes.map(({ tool }) => tool),
      ["a"]
    )
    assert.match(errors[0] ?? "", /^route 2: /)
    assert.match(errors[1] ?? "", /^route 3 \(\/a\): another route of this pack/)
  })

  it("warns about unknown members", () => {
    const { warnings } = parseRoutes("a", { endpoint: "/a", params, useform: true })
    assert.deepStrictEqual(warnings, ["route 1 (/a): unknown members 'useform'"])
  })

  it.each([undefined, null, "x", 3, () => []])("rejects %o as a list of routes", (given) => {
    assert.match(parseRoutes("a", given).errors.join(), /must return a route/)
  })

  it("reports objects that throw", () => {
    const hostile = {
      get endpoint(): string {
        throw new Error("no")
      }
    }
    assert.match(parseRoutes("a", hostile).errors.join(), /throws/)
  })

  it("accepts an endpoint of 256 characters, and dots within a segment", () => {
    for (const endpoint of [`/${"a".repeat(255)}`, "/a.b/..c/...", "/.a"]) {
      assert.deepStrictEqual(parseRoutes("a", { endpoint, params }).errors, [])
    }
  })

  it.each([
    [256, 0],
    [300, 1]
  ])("is accepted up to the maximum number of routes: %i, with %i errors", (count, errorCount) => {
    const many = Array.from({ length: count }, (_, index) => ({ endpoint: `/${index}`, params }))
    const { errors, routes } = parseRoutes("a", many)
    assert.deepStrictEqual([routes.length, errors.length], [256, errorCount])
  })

  it.prop("keeps every accepted endpoint as a URL path", [Schema.String], ([text]) => {
    for (const { endpoint } of parseRoutes("a", { endpoint: `/${text}`, params }).routes) {
      assert.strictEqual(new URL(`http://host${endpoint}`).pathname, endpoint)
    }
  })

  it.prop("parses any input", [Schema.Json], ([given]) => {
    const { errors, routes } = parseRoutes("a", given)
    assert.strictEqual(routes.length + errors.length > 0, !Array.isArray(given) || given.length > 0)
  })
})

describe("mismatch of routes and tools", () => {
  const route = { endpoint: "/a", tool: "a", params }

  it("stays silent when they agree", () => {
    assert.deepStrictEqual(findRouteMismatches([route], [{ name: "a", inputSchema: params }]), [])
    assert.deepStrictEqual(findRouteMismatches([route], [{ name: "a" }]), [])
  })

  it("reports a route without its tool, and a tool without a route", () => {
    const [first, second, ...more] = findRouteMismatches([route], [{ name: "b" }])
    assert.match(first ?? "", /route \/a calls the tool 'a', which listTools\(\) does not list/)
    assert.match(second ?? "", /lists 'b', which no route calls/)
    assert.deepStrictEqual(more, [])
  })

  it("reports parameters that only one of them has", () => {
    const inputSchema = { type: "object", properties: { uri: {} } }
    assert.match(
      findRouteMismatches([route], [{ name: "a", inputSchema }]).join(),
      /only one of them has 'url', 'uri'$/
    )
  })
})

describe("route conflict", () => {
  it("leaves the endpoint to the first pack", () => {
    const conflicts = findRouteConflicts([{ endpoint: "/a" }, { endpoint: "/b" }], new Map([["/a", "one"]]))
    assert.deepStrictEqual([...conflicts], [["/a", "route /a is ignored: it belongs to the pack 'one'"]])
  })

  it("never replaces a reserved endpoint", () => {
    assert.match(findRouteConflicts([{ endpoint: "/mcp" }], new Map()).get("/mcp") ?? "", /belongs to the host$/)
  })
})

describe("the reference of routes in docs/packs.md", () => {
  it("has every key with its other names", () => {
    const text = readFileSync("docs/packs.md", "utf8")
    const [, section = ""] = text.split("### Keys of a route")
    const rows = [...section.matchAll(/^\| `(\w+)`(?: \(([^)]*)\))? \| [^|]+ \| [^|]+ \| [^|]+ \|$/gm)]
    const names = rows.map(([, key = "", others = ""]) => [
      key,
      [key, ...[...others.matchAll(/`(\w+)`/g)].map(([, name]) => name)]
    ])
    assert.deepStrictEqual(Object.fromEntries(names), memberAliases)
  })
})
