import { defineConfig } from "vitest/config"

export default defineConfig({
  test: { include: ["test/**/*.test.ts"], pool: "threads", testTimeout: 20_000, silent: "passed-only" }
})
