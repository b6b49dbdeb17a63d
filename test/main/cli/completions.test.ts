import { execFile } from "node:child_process"
import { promisify } from "node:util"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Console, Effect } from "effect"
import { printNames } from "../../../src/main/cli/completion/printNames.ts"
import { tool } from "../../conformance/members.ts"
import { temporaryFile } from "../processes.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { a2cInProcess, a2cRunning, deskInProcess, serverInProcess } from "./inProcess.ts"

const scriptOf = (shell: string) => Effect.map(a2cInProcess("--completions", shell), ({ stdout }) => stdout)

describe("a2c --completions", () => {
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    it.live(`completes commands and flags in ${shell}`, () =>
      Effect.gen(function* () {
        const { failure, stdout } = yield* a2cInProcess("--completions", shell)
        assert.isUndefined(failure)
        for (const word of ["server", "computer", "agent", "devices", "tools", "members", "gateway", "token-file"]) {
          assert.include(stdout, word)
        }
        assert.notInclude(stdout, "a2c-names")
      })
    )
  }

  for (const shell of ["bash", "zsh", "fish"]) {
    it.live(`asks for names of the office in ${shell}`, () =>
      Effect.gen(function* () {
        assert.match(yield* scriptOf(shell), /names tools|__complete tools/)
      })
    )
  }

  it.live("completes names with any characters in bash, by the words before them", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("a2c.bash", yield* scriptOf("bash"))
      const lines = [
        `source ${file}`,
        `a2c() { [[ "$*" == "__complete tools -- agent --office \\"a b\\" call e" ]] && printf '%s\\n' echo 'e f*' other; }`,
        `COMP_WORDS=(a2c agent --office '"a b"' call e) COMP_CWORD=5 COMP_LINE='a2c agent --office "a b" call e'`,
        "_a2c a2c e call",
        `printf '%s\\n' "\${COMPREPLY[@]}"`
      ]
      const { stdout } = yield* Effect.promise(() => promisify(execFile)("bash", ["--norc", "-c", lines.join("\n")]))
      assert.strictEqual(stdout, "echo\ne\\ f\\*\n")
    })
  )
})

/** The names that complete the last word of a command line. */
const namesOf = Effect.fnUntraced(function* (source: string, ...words: ReadonlyArray<string>) {
  const names: Array<string> = []
  yield* printNames([source, "--", ...words]).pipe(
    Effect.provideService(Console.Console, { ...globalThis.console, log: (name: string) => void names.push(name) }),
    Effect.provide(NodeServices.layer)
  )
  return names
})

/** An office with a Computer, and the words by which commands find it. */
const place = Effect.gen(function* () {
  const url = yield* serverInProcess
  yield* deskInProcess({ office: "o", url }, [tool("echo"), tool("add"), tool("a\u001b[31mb")])
  return ["agent", "--server", url, "--office", "o"]
})

const withFolder = Effect.map(temporaryFolder, (folder) =>
  ConfigProvider.layer(ConfigProvider.fromEnv({ env: { XDG_RUNTIME_DIR: folder } }))
)

describe("a2c __complete", () => {
  it.live("prints the names of tools, Computers and offices, without those that a terminal would interpret", () =>
    Effect.gen(function* () {
      const words = yield* place
      assert.deepStrictEqual(yield* namesOf("tools", ...words, "call", ""), ["echo", "add"])
      assert.deepStrictEqual(yield* namesOf("computers", ...words.slice(0, -1), "'o'", "call", "--computer", ""), [
        "desk"
      ])
      assert.deepStrictEqual(yield* namesOf("offices", ...words.slice(0, 3), "--office", ""), ["o"])
    })
  )

  it.live("prints the hosts of 'agent mcp config'", () =>
    Effect.gen(function* () {
      const names = yield* namesOf("hosts", "agent", "mcp", "config", "")
      for (const host of ["claude", "cursor", "vscode"]) assert.include(names, host)
    })
  )

  it.live("prints nothing without an office, at a Server that cannot be reached, and for an unknown source", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* namesOf("tools", "agent", "call", ""), [])
      const words = ["agent", "--server", "http://127.0.0.1:1", "--office", "o", "call", ""]
      assert.deepStrictEqual(yield* namesOf("tools", ...words), [])
      assert.deepStrictEqual(yield* namesOf("nothing", ...words), [])
    })
  )

  it.live("uses credentials only through the connection of another command", () =>
    Effect.gen(function* () {
      const token = ["--token-file", yield* temporaryFile("token", "t0ken")]
      const words = [...(yield* place), ...token]
      const user = yield* withFolder
      const tools = Effect.provide(namesOf("tools", ...words, "call", ""), user)
      assert.deepStrictEqual(yield* tools, [])
      const { prints } = yield* Effect.provide(a2cRunning(...words, "watch"), user)
      yield* prints("watching")
      const names = yield* Effect.repeat(tools, { until: (found) => found.length > 0 })
      assert.deepStrictEqual(names, ["echo", "add"])
    })
  )
})
