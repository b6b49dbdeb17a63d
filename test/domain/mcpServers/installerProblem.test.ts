import { assert, describe, it } from "@effect/vitest"
import { explainInstaller, tellingLine } from "../../../src/domain/mcpServers/installerProblem.ts"

const certificate = (variable: string) =>
  `the certificate of its registry is not trusted. Set ${variable} to a file with the certificate of your proxy`
const unreachable = "its registry cannot be reached. Behind a proxy, set HTTPS_PROXY"
const log = "npm error A complete log of this run can be found in: /home/a/.npm/_logs/debug-0.log"

describe("explainInstaller", () => {
  for (const [command, lines, expected] of [
    [
      "npx",
      ["npm error code SELF_SIGNED_CERT_IN_CHAIN", "npm error errno SELF_SIGNED_CERT_IN_CHAIN"],
      `npx cannot load the package (SELF_SIGNED_CERT_IN_CHAIN): ${certificate("NODE_EXTRA_CA_CERTS, or cafile of npm where that is set,")}`
    ],
    [
      "/usr/bin/npx",
      ["npm ERR! code UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
      `npx cannot load the package (UNABLE_TO_VERIFY_LEAF_SIGNATURE): ${certificate("NODE_EXTRA_CA_CERTS, or cafile of npm where that is set,")}`
    ],
    [
      "C:\\node\\npx.cmd",
      ["npm error code CERT_HAS_EXPIRED"],
      `npx cannot load the package (CERT_HAS_EXPIRED): ${certificate("NODE_EXTRA_CA_CERTS, or cafile of npm where that is set,")}`
    ],
    [
      "npx",
      ["npm error code ECONNRESET", "npm error network request to https://x failed"],
      `npx cannot load the package (ECONNRESET): ${unreachable}`
    ],
    ["npx", ["npm error code ENOTFOUND"], `npx cannot load the package (ENOTFOUND): ${unreachable}`],
    ["npm", ["npm error code EAI_AGAIN"], `npm cannot load the package (EAI_AGAIN): ${unreachable}`],
    ["npx", ["npm error code ETIMEDOUT"], `npx cannot load the package (ETIMEDOUT): ${unreachable}`],
    ["npx", ["npm error code E404", log], "npx cannot load the package (E404): there is no such package or version"],
    ["npx", ["npm error code ETARGET"], "npx cannot load the package (ETARGET): there is no such package or version"],
    ["npx", ["npm error code E401"], "npx cannot load the package (E401): its registry does not permit access"],
    [
      "uvx",
      ["error: Request failed", "  Caused by: invalid peer certificate: UnknownIssuer"],
      `uvx cannot load the package: ${certificate("SSL_CERT_FILE")}`
    ],
    [
      "uvx",
      ["  Caused by: dns error: failed to lookup address information"],
      `uvx cannot load the package: ${unreachable}`
    ],
    [
      "uvx",
      ["  Because nothing-here was not found in the package registry, it cannot be used"],
      "uvx cannot load the package: there is no such package or version"
    ],
    ["npx", ["Error: connect ECONNRESET"], undefined],
    ["npx", ["npm error code ENOENT", log], undefined],
    ["npx", [], undefined],
    ["node", ["npm error code ECONNRESET"], undefined],
    ["constructor", ["npm error code ECONNRESET"], undefined]
  ] as const) {
    it(`explains ${lines[0] ?? "no output"} of ${command}`, () => {
      assert.strictEqual(explainInstaller(command, lines), expected)
    })
  }
})

describe("tellingLine", () => {
  it.each([
    [["npm error code E404", "npm error 404 Not Found", "npm error", log], "npm error 404 Not Found"],
    [["first", "last"], "last"],
    [[log], log],
    [[], undefined]
  ])("finds the line that tells something in %o", (lines, expected) => {
    assert.strictEqual(tellingLine(lines), expected)
  })
})
