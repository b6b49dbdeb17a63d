/** A decimal number: digits × 10^exponent. */
interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

/** The shortest decimal that denotes a number, which is what its author wrote unless that had more than 17 digits. */
const toDecimal = (value: number): Decimal => {
  const [mantissa = "", exponent = "0"] = String(value).split("e")
  const [whole = "", fraction = ""] = mantissa.split(".")
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

/** True when a decimal number is a whole multiple of another one, without the rounding of binary fractions. */
export const isMultipleOf = (value: number, divisor: number): boolean => {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const [dividend, unit] = [toDecimal(value), toDecimal(divisor)]
  const exponent = Math.min(dividend.exponent, unit.exponent)
  const scale = (decimal: Decimal): bigint => decimal.digits * 10n ** BigInt(decimal.exponent - exponent)
  return scale(dividend) % scale(unit) === 0n
}
