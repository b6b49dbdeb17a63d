import { assert, describe, it } from "@effect/vitest"
import { inheritedVariables } from "../../../../../src/adapters/mcp/client/stdio/inheritedVariables.ts"

const namesOf = (names: ReadonlyArray<string>, inherit?: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.keys(inheritedVariables(Object.fromEntries(names.map((name) => [name, "x"])), inherit))

describe("an MCP server", () => {
  for (const [what, names] of [
    ["what programs need", ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "XDG_CACHE_HOME"]],
    [
      "what programs need on Windows, in any case",
      ["Path", "SystemRoot", "ComSpec", "LOCALAPPDATA", "ProgramFiles(x86)"]
    ],
    ["proxies, in either case", ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY"]],
    ["certificates", ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"]],
    [
      "settings of installers",
      ["npm_config_registry", "NPM_CONFIG_CAFILE", "npm_config_@team:registry", "PIP_INDEX_URL", "UV_DEFAULT_INDEX"]
    ]
  ] as const) {
    it(`inherits ${what}`, () => {
      assert.deepStrictEqual(namesOf(names), names)
    })
  }

  it("inherits no secrets and nothing else", () => {
    const names = [
      "GITHUB_TOKEN",
      "A2C_TOKEN",
      "AWS_PROFILE",
      "PATHS",
      "npm_config__authToken",
      "UV_PUBLISH_PASSWORD"
    ].concat("npm_config_package", "npm_config_call")
    assert.deepStrictEqual(namesOf(names), [])
  })

  it("inherits what its configuration names", () => {
    const names = ["GITHUB_TOKEN", "AWS_PROFILE", "AWS_REGION", "DEBUG"]
    assert.deepStrictEqual(namesOf(names, ["github_token", "AWS_*"]), ["GITHUB_TOKEN", "AWS_PROFILE", "AWS_REGION"])
  })
})
