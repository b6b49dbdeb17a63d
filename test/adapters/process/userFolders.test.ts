import { assert, describe, it } from "@effect/vitest"
import { userCacheFolder } from "../../../src/adapters/process/userFolders.ts"

describe("userCacheFolder", () => {
  it("is in the cache folder of the user", () => {
    assert.strictEqual(userCacheFolder("compiled", { XDG_CACHE_HOME: "/cache" }, "/home/u"), "/cache/a2c-smcp/compiled")
  })

  it.each([{}, { XDG_CACHE_HOME: "" }, { XDG_CACHE_HOME: "relative" }])("is in the home folder with %j", (env) => {
    assert.strictEqual(userCacheFolder("compiled", env, "/home/u"), "/home/u/.cache/a2c-smcp/compiled")
  })
})
