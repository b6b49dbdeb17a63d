import { Schema } from "effect"

/** The role of a member. */
export const Role = Schema.Literals(["agent", "computer"])

export type Role = typeof Role.Type
