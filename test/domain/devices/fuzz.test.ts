import { assert, describe, it } from "@effect/vitest"
import {
  type DecoderOptions,
  initialDecoderState,
  hasPartialFrame,
  maxBufferedBytes,
  dropPartialFrame,
  decodeChunk
} from "../../../src/domain/devices/framing/decoder.ts"
import { sendable, types, words } from "./frames.ts"
import { readAtOnce } from "./reference.ts"
import { characters, cut, full, join, latin1, randomFrom, readPieces, sent } from "./streams.ts"

/** Number of streams of about 300 bytes each, and the seed of the first one. */
const rounds = Number(process.env["A2C_FUZZ_ROUNDS"] ?? 5_000)
const firstSeed = Number(process.env["A2C_FUZZ_SEED"] ?? 1)
/** In milliseconds; one round takes half of it. */
const timeout = Math.max(20_000, 10 * rounds)

type Random = ReturnType<typeof randomFrom>

const pick = <A>(random: Random, from: readonly [A, ...ReadonlyArray<A>]): A => from[random(from.length)] ?? from[0]

const list = <A>(maximum: number, random: Random, one: () => A): ReadonlyArray<A> =>
  Array.from({ length: random(maximum + 1) }, one)

/** A sequence of valid frames. */
const frames = (random: Random): ReadonlyArray<Uint8Array> =>
  sendable(
    list(6, random, () => ({
      type: pick(random, types),
      task: pick(random, ["mcp00001", "task1234", "", "##", "a"]),
      sequence: random(10_000),
      content: list(8, random, () => pick(random, words))
    }))
  ).map(sent)

const noise = (random: Random): Uint8Array =>
  random(2) === 0
    ? latin1(list(30, random, () => pick(random, words)).join(""))
    : Uint8Array.from({ length: random(200) }, () => random(256))

/** Applies one random mutation to a stream. */
const damaged = (stream: Uint8Array, random: Random): Uint8Array => {
  const [at, to] = [random(stream.length + 1), random(stream.length + 1)].toSorted((one, other) => one - other)
  const [before, middle, after] = [stream.subarray(0, at), stream.subarray(at, to), stream.subarray(to)]
  switch (random(7)) {
    case 0: // flips a bit
      return stream.map((byte, index) => (index === at ? byte ^ (1 << random(8)) : byte))
    case 1: // removes a byte
      return join([before, stream.subarray((at ?? 0) + 1)])
    case 2: // removes a part
      return join([before, after])
    case 3: // duplicates a part
      return join([before, middle, middle, after])
    case 4: // truncates the end
      return before
    case 5: // inserts a token of the protocol
      return join([before, latin1(pick(random, words)), middle, after])
    default: // inserts arbitrary bytes
      return join([before, noise(random), middle, after])
  }
}

const broken = (random: Random): Uint8Array => {
  let stream = join([...frames(random), noise(random), ...frames(random)])
  for (let turns = random(4); turns > 0; turns--) stream = damaged(stream, random)
  return stream
}

const lengths = (random: Random): (() => number) => {
  const maxLength = pick(random, [2, 20, 200])
  return () => random(maxLength)
}

/** Decodes a stream in chunks, and checks the memory bound. */
const readChecked = (pieces: ReadonlyArray<Uint8Array>, options: DecoderOptions) => {
  let state = initialDecoderState(options)
  const maximum = maxBufferedBytes(state.settings)
  const events: Array<string> = []
  for (const piece of pieces) {
    const [next, found] = decodeChunk(state, piece)
    for (const event of found) events.push(full(event))
    if (next.buffered.length > maximum) assert.fail(`holds ${next.buffered.length} bytes`)
    state = next
  }
  return { state, events }
}

const round = (seed: number): number => {
  const random = randomFrom(seed)
  const stream = broken(random)
  const limits = pick(random, [
    { maxPayloadBytes: 1000, maxAudioPayloadBytes: 1000 },
    { maxPayloadBytes: 60, maxAudioPayloadBytes: 20 },
    { maxPayloadBytes: 7, maxAudioPayloadBytes: 0 }
  ])
  const options = { ...limits, framing: pick<"strict" | "naive">(random, ["strict", "strict", "naive"]) }
  const { events, state } = readChecked([stream], options)
  const expected = readAtOnce(characters(stream), options, options.framing)
  assert.deepStrictEqual({ events, incomplete: hasPartialFrame(state) }, expected)

  for (const pieces of [cut(stream, () => 1), cut(stream, lengths(random)), cut(stream, lengths(random))]) {
    const again = readChecked(pieces, options)
    assert.deepStrictEqual(again.events, events)
    assert.deepStrictEqual(
      [again.state.buffered.length, again.state.pendingGarbage, dropPartialFrame(again.state)[1].map(full)],
      [state.buffered.length, state.pendingGarbage, dropPartialFrame(state)[1].map(full)]
    )
  }
  return stream.length
}

const everyRound = (run: (seed: number) => void) => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    try {
      run(seed)
    } catch (cause) {
      throw new Error(`with A2C_FUZZ_SEED=${seed}`, { cause })
    }
  }
}

describe("corrupted stream", () => {
  it("decodes by the rules with any chunk boundaries, within the memory bound", { timeout }, () => {
    let bytes = 0
    everyRound((seed) => {
      bytes += round(seed)
    })
    assert.isAbove(bytes, 200 * rounds)
  })

  it("keeps the frames after the corruption", { timeout }, () => {
    everyRound((seed) => {
      const random = randomFrom(seed)
      const stream = broken(random)
      const intact = frames(random)
      const found = readPieces(cut(join([stream, ...intact]), lengths(random)))[1].map(full)
      const alone = readPieces(intact)[1].map(full)
      const last = found.filter((event) => event.startsWith("F(")).slice(-alone.length)
      assert.deepStrictEqual(alone.length === 0 ? [] : last, alone)
    })
  })
})
