import { chmodSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { folderOfTests } from "../../../folderOfTests.ts"
import { fileWriter } from "../flagRows.ts"
import { a2cInProcess } from "../inProcess.ts"

const folder = folderOfTests()
const fileWith = fileWriter(folder)
const plainFile = fileWith("server.sh", "exit 0\n")
const program = fileWith("program.sh", "exit 0\n")
chmodSync(program, 0o755)

const missing = 'warning: servers.files: command "no-such-program" not found'

describe("a2c computer check", () => {
  for (const [what, server, expected] of [
    ["warns of a command that is missing here", { command: "no-such-program" }, missing],
    [
      "warns of one in the PATH of its server",
      { command: "node", env: { PATH: "/nowhere" } },
      'command "node" not found'
    ],
    ["warns of a file that cannot be executed", { command: plainFile }, "is not executable"],
    ["warns of a folder", { command: folder }, "is a folder"],
    ["finds a program in PATH", { command: "node" }, undefined],
    ["finds a program by its path", { command: program }, undefined],
    ["finds a program in the folder of its server", { command: "./program.sh", cwd: folder }, undefined],
    ["leaves a command with a placeholder to its start", { command: "${env:HOME}/no-such-program" }, undefined]
  ] as const) {
    it.live(what, () =>
      Effect.gen(function* () {
        const servers = { files: { type: "stdio", server_parameters: server } }
        const { failure, stdout } = yield* a2cInProcess(
          "computer",
          "check",
          fileWith(`${what}.json`, JSON.stringify({ servers }))
        )
        assert.isUndefined(failure)
        if (expected === undefined) assert.notInclude(stdout, "warning")
        else assert.include(stdout, expected)
      })
    )
  }

  it.live("leaves the command of a disabled server alone", () =>
    Effect.gen(function* () {
      const files = { type: "stdio", disabled: true, server_parameters: { command: "no-such-program" } }
      const { stdout } = yield* a2cInProcess(
        "computer",
        "check",
        fileWith("disabled.json", JSON.stringify({ servers: { files } }))
      )
      assert.notInclude(stdout, "warning")
    })
  )
})
