import { assert, describe, it } from "@effect/vitest"
import { type Outage, outageProblems } from "./outages.ts"

const lost = (connection: string, reason: string) =>
  `Redis connection lost connection=${connection} node=n1 reason=${JSON.stringify(reason)}`
const rejects = (reason: string) =>
  `Redis rejects commands connection=registry node=n1 reason=${JSON.stringify(reason)}`
const failed = (reason: string) => `join failed, retrying office=team reason=${JSON.stringify(reason)}`

const readOnly = lost("registry", "READONLY You can't write against a read only replica.")

const outage = (more: Partial<Outage> = {}): Outage => ({
  kind: "Redis answers READONLY",
  seconds: 4,
  requests: 400,
  maxPerSecond: 600,
  logs: [{ part: "server 1", warnings: [readOnly], expected: "READONLY" }],
  ended: [],
  ...more
})

const logging = (...warnings: ReadonlyArray<string>) => ({ logs: [{ part: "server 1", warnings }] })

describe("rules of outages", () => {
  it.each<readonly [title: string, outage: Partial<Outage>]>([
    ["one warning and few requests", {}],
    ["one warning of each connection", logging(readOnly, lost("other", "READONLY x"))],
    [
      "one warning of each reason",
      logging(readOnly, rejects("BUSY x y"), lost("registry", "connect ECONNREFUSED 127.0.0.1:1"))
    ],
    ["warnings about other subjects", logging("connection lost office=team", "connection lost office=team")],
    ["one warning of each failed join with another reason", logging(failed("a"), failed("b"))],
    [
      "a warning at one of two processes, if only that one must warn",
      { logs: [...outage().logs, { part: "server 2", warnings: [] }] }
    ]
  ])("accept %s", (_, more) => {
    assert.deepStrictEqual(outageProblems(outage(more)), [])
  })

  it.each<readonly [title: string, outage: Partial<Outage>, problem: string]>([
    ["a busy loop", { requests: 7800 * 4 }, "7800 requests per second"],
    ["a warning for each retry", logging(readOnly, readOnly), "server 1 logged the same warning 2 times"],
    [
      "a warning for each retry, with other details",
      logging(rejects("NOPERM for eval"), rejects("NOPERM for evalsha")),
      "server 1 logged the same warning 2 times"
    ],
    [
      "a warning for each lost connection",
      logging(lost("registry", "Socket closed"), lost("registry", "connect ECONNREFUSED 127.0.0.1:1")),
      "server 1 logged the same warning 2 times"
    ],
    ["a warning for each failed join", logging(failed("x"), failed("x")), "server 1 logged the same warning 2 times"],
    [
      "an outage without a warning",
      { logs: [{ part: "server 1", warnings: [], expected: "READONLY" }] },
      'server 1 logged no warning with "READONLY"'
    ],
    [
      "a warning with another reason",
      { logs: [{ part: "server 1", warnings: [lost("registry", "x")], expected: "READONLY" }] },
      'server 1 logged no warning with "READONLY"'
    ],
    ["a member that ends at a page", { ended: ["desk"] }, "desk ended, although it had joined"]
  ])("find %s", (_, more, problem) => {
    const problems = outageProblems(outage(more))
    assert.lengthOf(problems, 1)
    assert.include(problems[0], problem)
    assert.match(problems[0] ?? "", /^Redis answers READONLY: /)
  })
})
