import { encodeJson } from "../../../src/domain/devices/framing/encoder.ts"
import { initialDecoderState, decodeChunk } from "../../../src/domain/devices/framing/decoder.ts"
import type { Frame } from "../../../src/domain/devices/framing/frame.ts"
import { Result } from "effect"
import { makeDeviceMessage, decodeDeviceMessage } from "../../../src/domain/devices/deviceMessages.ts"
import { frame } from "../surfaces/deviceCorpus.ts"
import { openTcp, type RawTcp } from "./rawTcp.ts"

/** A connection that decodes frames. */
export interface RawDevice extends RawTcp {
  readonly onFrame: (listener: (frame: Frame) => void) => void
}

/** Connects to a gateway. */
export const openDevice = async (url: string): Promise<RawDevice> => {
  const raw = await openTcp(url)
  let state = initialDecoderState()
  let listeners: ReadonlyArray<(frame: Frame) => void> = []
  raw.listen((bytes) => {
    const [next, events] = decodeChunk(state, new Uint8Array(bytes))
    state = next
    for (const event of events) {
      if (event._tag === "Frame") for (const listener of listeners) listener(event.frame)
    }
  })
  return {
    ...raw,
    onFrame: (listener) => {
      listeners = [...listeners, listener]
    }
  }
}

/** Echoes the arguments of every call. */
export const answerCalls = (device: RawDevice): void => {
  device.onFrame(({ payload, type }) => {
    const message = type === "mcp" ? Result.getOrUndefined(decodeDeviceMessage(payload)) : undefined
    if (message?._tag !== "Call") return
    const result = makeDeviceMessage.result(message.callId, { success: true, data: message.params })
    device.write(frame("mcp", encodeJson(result)))
  })
}
