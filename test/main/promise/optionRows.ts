import { assert, it } from "@effect/vitest"

/**
 * An outcome that an option changes: the option with a value other than its default, or than that of the outcome; what
 * happens without and with it; and how to see this. An option that is lost on its way fails its test.
 */
export type OptionRow<Given> = readonly [
  given: Given,
  outcomes: readonly [without: unknown, withIt: unknown],
  outcome: (given: Partial<Given>) => Promise<unknown>
]

/** A row for each member of some options: a new option without a row is an error of the compiler. */
export type OptionRows<Options> = {
  readonly [Name in keyof Options]-?: OptionRow<{ readonly [_ in Name]: Exclude<Options[Name], undefined> }>
}

/** A test of each option: its outcome differs with and without it. */
export const testOptions = <Options>(rows: OptionRows<Options>) =>
  it.each(Object.entries(rows) as unknown as ReadonlyArray<readonly [string, OptionRow<object>]>)(
    "changes its outcome by `%s`",
    async (_, [given, [without, withIt], outcome]) => {
      assert.notDeepEqual(without, withIt)
      assert.deepStrictEqual([await outcome({}), await outcome(given)], [without, withIt])
    }
  )
