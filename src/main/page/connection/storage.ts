import { useState } from "preact/hooks"
import { asObject, asString, parseJson } from "../../../domain/json.ts"

/** Tools whose last input is kept, the latest ones. */
const maxInputs = 30

/** Longer inputs are not kept, in UTF-16 units. */
const maxInputLength = 20_000

const inputsKey = "a2c.inputs"

/** Reads a setting. Browsers may forbid storage. */
export const readSetting = (key: string): string | undefined => {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** Writes a setting, where the browser allows it. */
export const writeSetting = (key: string, value: string): void => {
  try {
    localStorage.setItem(key, value)
  } catch {
    // Without storage the page forgets the setting.
  }
}

/** A setting as state, which is kept. */
export const useSetting = (key: string) => {
  const [value, setValue] = useState(() => readSetting(key))
  const change = (next: string): void => {
    setValue(next)
    writeSetting(key, next)
  }
  return [value, change] as const
}

const readInputs = () => Object.entries(asObject(parseJson(readSetting(inputsKey) ?? "")))

/** The last input of a tool as JSON text. */
export const readInput = (key: string): string | undefined => asString(readInputs().find(([one]) => one === key)?.[1])

/** Keeps the input of a tool for the next time. */
export const writeInput = (key: string, text: string): void => {
  if (text.length > maxInputLength) return
  const others = readInputs().filter(([one]) => one !== key)
  const kept = [...others, [key, text] as const].slice(-maxInputs)
  writeSetting(inputsKey, JSON.stringify(Object.fromEntries(kept)))
}

/** Forgets the inputs of all tools. */
export const clearInputs = (): void => writeSetting(inputsKey, "{}")
