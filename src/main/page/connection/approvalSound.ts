import { effect, signal } from "@preact/signals"
import { readSetting, writeSetting } from "./storage.ts"
import { openApprovals, pageState } from "./store.ts"

const setting = "a2c.approvalSound"

/** The shortest time between two sounds, in milliseconds. */
const minInterval = 1_000

/** The sound: hertz, seconds, and the share of the full volume. */
const frequency = 880
const duration = 0.25
const volume = 0.2

/** True when new approvals play a sound. */
export const isSoundOn = signal(readSetting(setting) === "on")

let audio: AudioContext | undefined

const playTone = async (): Promise<void> => {
  audio ??= new AudioContext()
  // Browsers suspend sound until the first click on the page.
  await audio.resume()
  const start = audio.currentTime
  const tone = new OscillatorNode(audio, { frequency })
  const gain = new GainNode(audio, { gain: volume })
  gain.gain.setValueAtTime(volume, start)
  gain.gain.exponentialRampToValueAtTime(volume / 100, start + duration)
  tone.connect(gain).connect(audio.destination)
  tone.start(start)
  tone.stop(start + duration)
}

/** Plays the tone, where the browser allows sound. Without it the title and the navigation show the number of approvals. */
const play = () => playTone().catch(() => undefined)

/** Turns the sound on or off, and keeps the choice. Turning it on plays it. */
export const switchSound = (isOn: boolean): void => {
  isSoundOn.value = isOn
  writeSetting(setting, isOn ? "on" : "off")
  if (isOn) void play()
}

/** Plays a sound for approvals that are opened while the page is open, in any of its offices. */
export const playNewApprovals = (): (() => void) => {
  let known: ReadonlySet<string> | undefined
  let playedAt = Number.NEGATIVE_INFINITY
  return effect(() => {
    const open = new Set(openApprovals.value.map(({ key }) => key))
    const isNew = [...open].some((key) => known?.has(key) === false)
    // The first snapshot lists approvals that are not new.
    known = pageState.peek().stream === undefined ? undefined : open
    if (!isNew || !isSoundOn.peek() || performance.now() - playedAt < minInterval) return
    playedAt = performance.now()
    void play()
  })
}
