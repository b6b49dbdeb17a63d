import { connect } from "node:net"
import { Deferred, Effect, Exit, type Scope } from "effect"

/**
 * A device written from the protocol document alone (seed 002 §7.1): no code of this project, brackets where the
 * document shows them, JSON over several lines.
 */

/** The first message of the client, literally. */
const registration = `##START\u0006mcp00001[0000]{
    "type": "register",
    "data": {
        "services": {
            "get_current_time": {
                "description": "获取当前时间",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "format": {
                            "type": "string",
                            "enum": ["simple", "detailed"]
                        }
                    }
                }
            }
        }
    }
}##END`

/** The next message: a text of its user, and the end of the turn. */
const question = "##START\u0004task12340000现在几点了?##END" + "##START\u0003task12340001##END"

/** The result of a call. */
const answerTo = (callId: string) => `##START\u0006mcp00001[0000]{
    "type": "result",
    "data": {
        "call_id": "${callId}",
        "result": {
            "success": true,
            "data": "2025-01-22 14:30:25"
        }
    }
}##END`

/** The result of an unsupported call (seed 002 §6.3). */
const rejectionOf = (callId: string) => `##START\u0006mcp00001[0000]{
    "type": "result",
    "data": {
        "call_id": "${callId}",
        "result": {
            "success": false,
            "error": "详细错误信息"
        }
    }
}##END`

/** The start of an MCP frame without its sequence number. */
const mcpStart = "##START\u0006mcp00001"

/** An MCP frame, with the brackets of the document or without them. */
const mcpFrame = new RegExp(String.raw`${mcpStart}(?:\[0000\]|0000)(\{.*?\})##END`, "s")

/** The call in a frame, as text. */
interface Call {
  readonly type: string
  readonly data: {
    readonly call_id: string
    readonly method: string
    readonly params: { readonly format?: string }
  }
}

/** A device that has registered and sent a text of its user. */
export interface SeedDevice {
  /** Received calls, oldest first. */
  readonly calls: ReadonlyArray<Call>
  readonly hangUp: Effect.Effect<void>
}

/** Connects the device. It serves calls until it disconnects or the scope closes. It sends its bytes one by one. */
export const connectSeedDevice = (port: number): Effect.Effect<SeedDevice, never, Scope.Scope> =>
  Effect.gen(function* () {
    const closed = yield* Deferred.make<void>()
    const calls: Array<Call> = []
    let buffer = ""
    const socket = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof connect>>((resume) => {
        const made = connect({ host: "127.0.0.1", port, noDelay: true })
        made.on("error", (error) => resume(Effect.die(error)))
        made.on("close", () => Deferred.doneUnsafe(closed, Exit.void))
        made.on("connect", () => resume(Effect.succeed(made)))
      }),
      (made) => Effect.sync(() => made.destroy())
    )
    const print = (text: string) => {
      for (const byte of Buffer.from(text)) socket.write(Uint8Array.of(byte))
    }
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      buffer += chunk
      for (let found = mcpFrame.exec(buffer); found !== null; found = mcpFrame.exec(buffer)) {
        buffer = buffer.slice(found.index + found[0].length)
        const call: Call = JSON.parse(found[1] ?? "")
        calls.push(call)
        const { call_id, params } = call.data
        print(params.format === "simple" ? answerTo(call_id) : rejectionOf(call_id))
      }
    })
    print(registration)
    print(question)
    return {
      calls,
      hangUp: Effect.andThen(
        Effect.sync(() => socket.end()),
        Deferred.await(closed)
      )
    }
  })
