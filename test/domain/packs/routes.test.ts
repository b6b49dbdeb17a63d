import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { findRouteMismatches, parseRoutes, findRouteConflicts } from "../../../src/domain/packs/routes.ts"

const params = { type: "object", properties: { url: { type: "string" } } }
const faultOf = (entry: unknown) => {
  const { errors, routes } = parseRoutes("pack", [entry])
  assert.deepStrictEqual(routes, [])
  assert.lengthOf(errors, 1)
  return errors[0] ?? ""
}

describe("routes that a pack declares", () => {
  it("one route calls the tool that is called like the pack, with JSON", () => {
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
  ])("the seed's words mean the same: %j", (entry) => {
    assert.deepStrictEqual(parseRoutes("a", [entry]), {
      routes: [{ endpoint: "/tools/a/b", tool: "b", useForm: true, params }],
      errors: [],
      warnings: []
    })
  })

  it("schemas stay what they are", () => {
    class Params {}
    assert.strictEqual(parseRoutes("a", { endpoint: "/a", params: Params }).routes[0]?.params, Params)
  })

  it("a pack may have no routes", () => {
    assert.deepStrictEqual(parseRoutes("a", []), { routes: [], errors: [], warnings: [] })
  })

  it("an endpoint is spelled as requests spell it", () => {
    assert.strictEqual(
      parseRoutes("a", { endpoint: "/工具", params }).routes[0]?.endpoint,
      "/%E5%B7%A5%E5%85%B7"
    )
  })

  it.each([
    [{ params }, /route 1: it has no 'endpoint'/],
    [{ endpoint: "/a" }, /it has no 'params'/],
    [{ endpoint: "/a", params: null }, /it has no 'params'/],
    [{ endpoint: 7, params }, /'endpoint' must be a string/],
    [{ endpoint: "", params }, /start with '\/'/],
    [{ endpoint: "tools/a", params }, /route 1 \(tools\/a\): .*start with '\/'/],
    [{ endpoint: "/a//b", params }, /contains '\/\/'/],
    [{ endpoint: "/a/", params }, /must not end with '\/'/],
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
  ])("a bad route says why: %j", (entry, words) => {
    assert.match(faultOf(entry), words)
  })

  it.each(["/", "/health", "/tools", "/mcp", "/docs", "/redoc", "/openapi.json", "/favicon.ico"])(
    "%s is the host's own",
    (endpoint) => {
      assert.match(faultOf({ endpoint, params }), /reserved by the host/)
    }
  )

  it("a bad route costs nobody but itself, and the second of two with one endpoint is ignored", () => {
    const good = { endpoint: "/a", params }
    const { errors, routes } = parseRoutes("a", [good, {}, { ...good, toolName: "b" }])
    assert.deepStrictEqual(
      routes.map(({ tool }) => tool),
      ["a"]
    )
    assert.match(errors[0] ?? "", /^route 2: /)
    assert.match(errors[1] ?? "", /^route 3 \(\/a\): another route of this pack/)
  })

  it("what nobody knows is pointed out", () => {
    const { warnings } = parseRoutes("a", { endpoint: "/a", params, useform: true })
    assert.deepStrictEqual(warnings, ["route 1 (/a): unknown members 'useform'"])
  })

  it.each([undefined, null, "x", 3, () => []])("%o is no list of routes", (given) => {
    assert.match(parseRoutes("a", given).errors.join(), /must return a route/)
  })

  it("objects that throw are a fault", () => {
    const hostile = {
      get endpoint(): string {
        throw new Error("no")
      }
    }
    assert.match(parseRoutes("a", hostile).errors.join(), /throws/)
  })

  it("more routes than anybody can mean are cut", () => {
    const { errors, routes } = parseRoutes(
      "a",
      Array.from({ length: 300 }, (_, index) => ({ endpoint: `/${index}`, params }))
    )
    assert.strictEqual(routes.length, 256)
    assert.lengthOf(errors, 1)
  })

  it.prop("every endpoint that is read is a path as it is", [Schema.String], ([text]) => {
    for (const { endpoint } of parseRoutes("a", { endpoint: `/${text}`, params }).routes) {
      assert.strictEqual(new URL(`http://host${endpoint}`).pathname, endpoint)
    }
  })

  it.prop("whatever is given is read", [Schema.Json], ([given]) => {
    const { errors, routes } = parseRoutes("a", given)
    assert.strictEqual(routes.length + errors.length > 0, !Array.isArray(given) || given.length > 0)
  })
})

describe("routes and listed tools", () => {
  const route = { endpoint: "/a", tool: "a", params }

  it("that agree are not worth a word", () => {
    assert.deepStrictEqual(findRouteMismatches([route], [{ name: "a", inputSchema: params }]), [])
    assert.deepStrictEqual(findRouteMismatches([route], [{ name: "a" }]), [])
  })

  it("a route without its tool and a tool without a route are told", () => {
    const [first, second, ...more] = findRouteMismatches([route], [{ name: "b" }])
    assert.match(first ?? "", /route \/a calls the tool 'a', which listTools\(\) does not list/)
    assert.match(second ?? "", /lists 'b', which no route calls/)
    assert.deepStrictEqual(more, [])
  })

  it("parameters that only one of them knows are told", () => {
    const inputSchema = { type: "object", properties: { uri: {} } }
    assert.match(
      findRouteMismatches([route], [{ name: "a", inputSchema }]).join(),
      /only one of them has 'url', 'uri'$/
    )
  })
})

describe("routes of several packs", () => {
  it("belong to who came first", () => {
    const conflicts = findRouteConflicts([{ endpoint: "/a" }, { endpoint: "/b" }], new Map([["/a", "one"]]))
    assert.deepStrictEqual([...conflicts], [["/a", "route /a is ignored: it belongs to the pack 'one'"]])
  })

  it("never replace the host's own", () => {
    assert.match(
      findRouteConflicts([{ endpoint: "/mcp" }], new Map()).get("/mcp") ?? "",
      /belongs to the host$/
    )
  })
})
