import { assert, describe, it } from "@effect/vitest"
import type { JsonObject } from "../../../src/domain/json.ts"
import {
  appCallMeta,
  appCallOf,
  appCapability,
  appUriOf,
  isAppOnly,
  isAppResource,
  isCallableByApps,
  supportsApps
} from "../../../src/domain/tools/appTools.ts"
import { formatToolMeta } from "../../../src/domain/tools/toolMeta.ts"

/** The `_meta` of MCP, and the `meta` of the office for it. */
const forms = (ui: unknown): ReadonlyArray<JsonObject> => [{ ui }, formatToolMeta({ ui }, undefined, undefined)]

describe("tool of an app", () => {
  it("is seen by models and apps without a visibility", () => {
    for (const meta of [undefined, {}, ...forms({}), ...forms({ visibility: "app" }), { ui: "not JSON" }]) {
      assert.deepStrictEqual([isAppOnly(meta), isCallableByApps(meta)], [false, true])
    }
  })

  it("is seen by those that its visibility names, in both forms", () => {
    const seen = (visibility: ReadonlyArray<unknown>) =>
      forms({ visibility }).map((meta) => [!isAppOnly(meta), isCallableByApps(meta)])
    assert.deepStrictEqual(seen(["app"]), Array(2).fill([false, true]))
    assert.deepStrictEqual(seen(["model"]), Array(2).fill([true, false]))
    assert.deepStrictEqual(seen(["app", "model", 7]), Array(2).fill([true, true]))
    assert.deepStrictEqual(seen([]), Array(2).fill([false, false]))
  })

  it("has an app with a ui URI, also in the form of earlier servers", () => {
    assert.strictEqual(appUriOf({ ui: { resourceUri: "UI://draw" } }), "UI://draw")
    for (const meta of [...forms({ resourceUri: "ui://draw" }), { "ui/resourceUri": "ui://draw" }]) {
      assert.strictEqual(appUriOf(meta), "ui://draw")
    }
    const others = [{}, { resourceUri: "https://a.example" }, ["ui://a"]].flatMap(forms)
    for (const meta of [undefined, ...others]) assert.isUndefined(appUriOf(meta))
  })
})

describe("supportsApps", () => {
  it("requires the type of the HTML", () => {
    assert.isTrue(supportsApps({ extensions: appCapability }))
    const key = "io.modelcontextprotocol/ui"
    const extensions = [{}, { [key]: {} }, { [key]: { mimeTypes: ["text/html"] } }]
    for (const capabilities of [undefined, {}, ...extensions.map((others) => ({ extensions: others }))])
      assert.isFalse(supportsApps(capabilities))
  })
})

describe("isAppResource", () => {
  it("knows resources with the scheme of apps", () => {
    for (const uri of ["ui://form", "UI://form", "Ui://form", "uI://"]) assert.isTrue(isAppResource({ uri }), uri)
    for (const resource of [{ uri: "note://ui://" }, { uri: 7 }, {}]) assert.isFalse(isAppResource(resource))
  })
})

describe("appCallOf", () => {
  it("gives what appCallMeta states", () => {
    const call = { server: ["desk", "draw"], tool: "refresh" }
    assert.deepStrictEqual(appCallOf(appCallMeta(call)), call)
  })

  it("gives nothing for other metadata", () => {
    const malformed = [{ server: ["a"] }, { tool: "a" }, { server: "a", tool: "a" }, { server: ["a"], tool: 7 }, 7]
    for (const value of malformed) assert.isUndefined(appCallOf({ a2c_app: value }))
    assert.isUndefined(appCallOf(undefined))
    assert.isUndefined(appCallOf({}))
  })
})
