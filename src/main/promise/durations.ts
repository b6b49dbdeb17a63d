import { Duration, Record } from "effect"
import { definedOnly } from "../../domain/objects.ts"

type Millis<K extends string> = { readonly [_ in K]: number | undefined }

/** Converts times in milliseconds; leaves out undefined ones. */
export const durations = <K extends string>(times: Partial<Millis<K>>) =>
  definedOnly(Record.map(times as Millis<K>, (time) => (time === undefined ? undefined : Duration.millis(time))))
