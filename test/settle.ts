import { TestClock } from "effect/testing"

/** Runs all fibers until they wait, without advancing virtual time. */
export const settle = TestClock.adjust(0)
