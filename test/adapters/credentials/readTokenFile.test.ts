import { execFileSync, spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readTokenFile } from "../../../src/adapters/credentials/readTokenFile.ts"
import { folderOfTests } from "../../folderOfTests.ts"

const folder = folderOfTests()

const fileWith = (content: string): string => {
  const file = join(folder, "token")
  writeFileSync(file, content)
  return file
}

/** The token, or the error's message without the path. */
const read = (file: string, subject?: string) =>
  Effect.match(readTokenFile(file, subject), {
    onFailure: ({ message }) => message.replace(file, "FILE"),
    onSuccess: (token) => token
  })

it.live("reads a token without the white space around it", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* read(fileWith("\n  tökèn 1 \r\n")), "tökèn 1")
  })
)

it.live("reads the file on each call", () =>
  Effect.gen(function* () {
    const token = readTokenFile(fileWith("one"))
    assert.strictEqual(yield* token, "one")
    fileWith("two")
    assert.strictEqual(yield* token, "two")
  })
)

it.live("accepts 64 KiB and rejects one byte more", () =>
  Effect.gen(function* () {
    const max = "x".repeat(64 * 1024)
    assert.strictEqual(yield* read(fileWith(max)), max)
    assert.strictEqual(yield* read(fileWith(`${max}x`)), "the token file FILE is too long for a token")
  })
)

it.live("rejects a file without a token", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* read(fileWith(" \n")), "the token file FILE is empty")
  })
)

it.live("tells why a file cannot be read, and whose file it is", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* read(join(folder, "absent"), "the key of x"), "the key of x FILE does not exist")
    assert.strictEqual(yield* read(folder), "the token file FILE is a folder")
    assert.match(yield* read(join(fileWith("x"), "below")), /^the token file FILE cannot be read: ENOTDIR$/)
  })
)

/** A pipe to which another process writes this script's output. */
const pipeOf = (name: string, script: string) => {
  const pipe = join(folder, name)
  execFileSync("mkfifo", [pipe])
  return Effect.as(
    Effect.acquireRelease(
      Effect.sync(() => spawn("sh", ["-c", `{ ${script}; } > '${pipe}'`], { stdio: "ignore" })),
      (writer) => Effect.sync(() => writer.kill("SIGKILL"))
    ),
    pipe
  )
}

it.live("reads a pipe to its end, once for all of its readers", () =>
  Effect.gen(function* () {
    const pipe = yield* pipeOf("slow", "printf one-; sleep 0.2; printf 'two\\n'")
    assert.deepStrictEqual(yield* Effect.all([read(pipe), read(pipe)], { concurrency: 2 }), ["one-two", "one-two"])
    assert.strictEqual(yield* read(pipe), "one-two")
  })
)

it.live("rejects a pipe without an end, and one without a token", () =>
  Effect.gen(function* () {
    assert.match(yield* read(yield* pipeOf("endless", "exec yes")), /^the token file .* is too long for a token$/)
    assert.match(yield* read(yield* pipeOf("empty", ":")), /^the token file .* is empty$/)
    assert.strictEqual(yield* read("/dev/null"), "the token file FILE is empty")
  })
)
