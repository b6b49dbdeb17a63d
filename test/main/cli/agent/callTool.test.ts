import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runComputer } from "../../../../src/main/entrypoints/promise.ts"
import { everythingServer, temporaryFile } from "../../processes.ts"
import { a2cInProcess, a2cRunning, messageOf, serverInProcess } from "../inProcess.ts"
import { joinSilently } from "./silentComputer.ts"

/** An office with one Computer, and commands of its Agent. */
const office = Effect.gen(function* () {
  const url = yield* serverInProcess
  const desk = {
    type: "stdio",
    default_tool_meta: { auto_apply: true },
    server_parameters: { command: process.execPath, args: [everythingServer] }
  }
  const computer = yield* Effect.acquireRelease(
    Effect.promise(() => runComputer({ url, office: "o", name: "desk", config: { servers: { everything: desk } } })),
    (one) => Effect.promise(() => one.close())
  )
  yield* Effect.promise(async () => {
    for await (const servers of computer.changes()) if (servers.get("everything")?._tag === "Ready") break
  })
  const run = (...args: ReadonlyArray<string>) => a2cInProcess("agent", "--server", url, "--office", "o", ...args)
  return { run, url }
})

describe("a2c agent", () => {
  it.live("calls a tool with arguments by key, and shows it", () =>
    Effect.gen(function* () {
      const { run: agent } = yield* office
      const sum = yield* agent("call", "get-sum", "a=40", "b=2")
      assert.deepStrictEqual([sum.failure, sum.stdout], [undefined, "The sum of 40 and 2 is 42.\n"])
      const note = yield* temporaryFile("note.txt", "from a file")
      assert.include((yield* agent("call", "echo", `message=@${note}`)).stdout, "from a file")
      assert.include((yield* agent("call", "echo", "message=42", "--computer", "desk")).stdout, "42")
      const whole = yield* temporaryFile("args.json", '{"a": 1, "b": 2}')
      assert.include((yield* agent("call", "get-sum", "--args", `@${whole}`)).stdout, "3")
      assert.include((yield* agent("call", "get-sum", `@${whole}`)).stdout, "3")

      const reasonOf = (...words: ReadonlyArray<string>) =>
        Effect.map(agent("call", ...words), ({ failure }) => messageOf(failure))
      assert.strictEqual(
        yield* reasonOf("get-sum", "a=1", "c=2"),
        "The tool 'get-sum' has no argument 'c': did you mean 'a'?"
      )
      assert.strictEqual(
        yield* reasonOf("get-sum", "a=one", "b=2"),
        "Tool 'get-sum' was not called: its arguments do not fit its schema.\n- /a: must be number"
      )
      assert.match(yield* reasonOf("get-sum", "a=1"), /must have required property 'b'/)
      assert.strictEqual(
        yield* reasonOf("get-sun", "a=1"),
        "No tool 'get-sun' is in this office: did you mean 'get-sum'?"
      )
      assert.strictEqual(
        yield* reasonOf("get-sun", "a=1", "--computer", "desk"),
        "No tool 'get-sun' is at Computer 'desk': did you mean 'get-sum'?"
      )
      for (const words of [
        ["--args", "{}"],
        ["a=1"],
        ["--args", "{}", "--computer", "desk"],
        ["a=1", "--computer", "desk"]
      ]) {
        const { failure } = yield* agent("call", "get-sun", ...words)
        assert.match(messageOf(failure), /^No tool 'get-sun' is (in|at) .*: did you mean 'get-sum'\?$/)
        assert.deepInclude(failure, { code: "unknown_tool" })
        assert.notProperty(failure, "exitCode")
      }

      const shown = yield* agent("tool", "get-sum")
      assert.match(shown.stdout, /^name +get-sum\ncomputer +desk\n/)
      assert.match(shown.stdout, /^PARAMETER +TYPE +REQUIRED +DEFAULT +DESCRIPTION\na +number +yes +First number$/m)
      assert.match(
        shown.stdout,
        /^example:\n {2}a2c agent --server http:\/\/127\.0\.0\.1:\d+ --office o call get-sum a=1 b=1\n$/m
      )
      const json = yield* agent("--json", "tool", "get-sum")
      assert.deepInclude(JSON.parse(json.stdout), { computer: "desk", name: "get-sum" })
    })
  )

  it.live("reads nothing of the Computers that a call does not need", () =>
    Effect.gen(function* () {
      const { run, url } = yield* office
      const asked: Array<string> = []
      yield* joinSilently(url, "other", (event, reqId, reply) => {
        if (event.startsWith("client:")) asked.push(event)
        reply?.({ tools: [], req_id: reqId })
      })
      yield* run("members")
      yield* run("call", "get-sum", "a=40", "b=2", "--computer", "desk")
      assert.deepStrictEqual(asked, [])
      yield* run("call", "get-sum", "a=40", "b=2")
      assert.deepStrictEqual(asked, ["client:get_tools"])
    })
  )

  it.live.each<[string, ReadonlyArray<string>]>([
    ["arguments by key", ["call", "get-sum", "a=40", "b=2"]],
    ["whole arguments", ["call", "get-sum", "--args", '{"a": 40, "b": 2}']],
    ["arguments by key for a named Computer", ["call", "get-sum", "a=40", "b=2", "--computer", "desk"]]
  ])("calls a tool with %s beside Computers that hang", ([, words]) =>
    Effect.gen(function* () {
      const { run, url } = yield* office
      yield* joinSilently(url, "hanging")
      yield* joinSilently(url, "another")
      const { stdout } = yield* Effect.timeout(run(...words), "9 seconds")
      assert.strictEqual(stdout, "The sum of 40 and 2 is 42.\n")
    })
  )

  /** An office of Computers that reply to a request for the desktop once all have it, with a desktop or an error. */
  const openDesktops = (names: ReadonlyArray<string>, isFailing: (name: string) => boolean) =>
    Effect.gen(function* () {
      const url = yield* serverInProcess
      const waiting: Array<() => void> = []
      for (const name of names) {
        yield* joinSilently(url, name, (event, reqId, reply) => {
          if (event !== "client:get_desktop") return
          const error = { code: 500, message: `${name} is broken` }
          waiting.unshift(() => reply(isFailing(name) ? error : { desktops: [`window of ${name}`], req_id: reqId }))
          if (waiting.length === names.length) for (const answer of waiting.splice(0)) answer()
        })
      }
      return (...args: ReadonlyArray<string>) =>
        Effect.timeout(a2cInProcess("agent", "--server", url, "--office", "o", ...args), "20 seconds")
    })

  it.live("queries all Computers at the same time, and prints them in their order", () =>
    Effect.gen(function* () {
      const names = ["one", "two", "three"]
      const agent = yield* openDesktops(names, () => false)
      const { stdout } = yield* agent("desktop")
      assert.strictEqual(
        stdout,
        names
          .map((name) => `# ${name}\n\nwindow of ${name}`)
          .join("\n\n")
          .concat("\n")
      )
    })
  )

  it.live("prints what has arrived while a Computer hangs, then the rest", () =>
    Effect.gen(function* () {
      const url = yield* serverInProcess
      const { promise: release, resolve: replyAtLast } = Promise.withResolvers<void>()
      for (const name of ["one", "slow", "two"]) {
        yield* joinSilently(url, name, (event, reqId, reply) => {
          if (event !== "client:get_desktop") return
          const window = () => reply({ desktops: [`window of ${name}`], req_id: reqId })
          if (name === "slow") void release.then(window)
          else window()
        })
      }
      const command = yield* a2cRunning("agent", "--server", url, "--office", "o", "desktop")
      yield* command.prints("waiting for replies of slow", "stderr")
      const [one, slow, two] = ["one", "slow", "two"].map((name) => `# ${name}\n\nwindow of ${name}`)
      assert.strictEqual(command.stdout(), `${one}\n\n${two}\n`)
      replyAtLast()
      assert.isUndefined(yield* command.ended)
      assert.strictEqual(command.stdout(), `${one}\n\n${two}\n${slow}\n`)
    })
  )

  it.live("reports a Computer that fails, and prints the others", () =>
    Effect.gen(function* () {
      const agent = yield* openDesktops(["one", "two"], (name) => name === "one")
      const { failure, stderr, stdout } = yield* agent("desktop")
      assert.deepStrictEqual([failure, stdout], [undefined, "# two\n\nwindow of two\n"])
      assert.include(stderr, "a2c: Computer 'one': one is broken (500)")
    })
  )

  it.live("reports a Computer that fails as JSON beside the JSON of the others", () =>
    Effect.gen(function* () {
      const agent = yield* openDesktops(["one", "two"], (name) => name === "one")
      const { stderr, stdout } = yield* agent("desktop", "--json")
      assert.deepStrictEqual(JSON.parse(stdout), [{ computer: "two", desktop: ["window of two"] }])
      assert.include(stderr, `{"error":{"code":500,"message":"Computer 'one': one is broken (500)"}}`)
    })
  )

  it.live("fails with the reasons of all Computers when none replies", () =>
    Effect.gen(function* () {
      const agent = yield* openDesktops(["one", "two"], () => true)
      const { failure, stdout } = yield* agent("desktop")
      assert.strictEqual(stdout, "")
      assert.strictEqual(messageOf(failure), "Computer 'one': one is broken (500)\nComputer 'two': two is broken (500)")
    })
  )

  it.live("fails with the reason of the only Computer", () =>
    Effect.gen(function* () {
      const agent = yield* openDesktops(["one"], () => true)
      assert.strictEqual(messageOf((yield* agent("desktop")).failure), "one is broken (500)")
    })
  )
})
