import { defineConfig } from "vitest/config"

/** What looks at how soon something happens, or keeps several processors busy by itself. */
const alone = [
  "test/adapters/{redis,registry}/**/*.test.ts",
  "test/attacks/**/*.test.ts",
  "test/chaos/**/*.test.ts",
  "test/main/{cluster*,faults,serverDrain,supervision}.test.ts"
]

export default defineConfig({
  test: {
    silent: "passed-only",
    projects: [
      {
        extends: true,
        test: {
          name: "side by side",
          include: ["test/**/*.test.ts"],
          exclude: alone,
          maxWorkers: 2,
          sequence: { groupOrder: 0 }
        }
      },
      {
        extends: true,
        test: { name: "alone", include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } }
      }
    ],
    pool: "threads",
    testTimeout: 20_000,
    // Packs are imported by Node itself.
    server: { deps: { external: [/src\/adapters\/packs\/loading\/importModule\.ts$/] } }
  }
})
