import { Schema } from "effect"

/** The two sides of an office. */
export const Role = Schema.Literals(["agent", "computer"])

export type Role = typeof Role.Type
