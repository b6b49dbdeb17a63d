import { Duration, Record } from "effect"
import { definedOnly } from "../../domain/objects.ts"

type Millis<K extends string> = { readonly [_ in K]: number | undefined }

/** Converts times in milliseconds; leaves out undefined ones. */
export const durations = <K extends string>(times: Partial<Millis<K>>) =>
  definedOnly(Record.map(times as Millis<K>, (time) => (time === undefined ? undefined : Duration.millis(time))))

/** Settings with times in milliseconds. */
export type InMillis<Settings> = {
  readonly [S in keyof Settings]?: Settings[S] extends Duration.Duration ? number : Settings[S]
}

/** The settings that are given, with durations where the defaults have them. */
export const fromMillis = <Settings extends object>(defaults: Settings, given: InMillis<Settings>): Partial<Settings> =>
  Object.fromEntries(
    Object.entries<unknown>(definedOnly(given)).map(([name, value]) => [
      name,
      Duration.isDuration(Reflect.get(defaults, name)) ? Duration.millis(value as number) : value
    ])
  ) as Partial<Settings>
