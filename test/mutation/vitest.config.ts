import { defineConfig } from "vitest/config"
import { areas } from "./areas.ts"

const chosen = process.env["A2C_MUTATION_TESTS"]
const include =
  chosen === undefined ? areas.flatMap(({ tests, widerTests }) => [...tests, ...widerTests]) : chosen.split(" ")

export default defineConfig({
  test: {
    silent: true,
    include,
    env: { A2C_FUZZ_ROUNDS: "200", A2C_TRANSPORTS: "memory" },
    pool: "threads",
    // A thread for each file of tests would load Effect for each file and mutant.
    isolate: false,
    deps: { optimizer: { ssr: { enabled: true, include: ["effect", "effect/testing", "@effect/vitest"] } } },
    // Sources that count their coverage run several times slower. Stryker limits the time of each mutant.
    testTimeout: 120_000
  }
})
