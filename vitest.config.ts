import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "threads",
    testTimeout: 20_000,
    silent: "passed-only",
    // Packs are imported by Node itself.
    server: { deps: { external: [/src\/adapters\/packs\/importing\.ts$/] } }
  }
})
