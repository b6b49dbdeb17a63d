import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Attack } from "../Attack.ts"
import { member, polling, request } from "../raw.ts"

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`
const body = (members: string) => `{"agent":"mallory","req_id":"r","computer":"pc",${members}}`
const event = (id: number, text: string) => `42/smcp,${id}["client:get_tools",${text}]`

/** Attacks by the form of messages. */
export const shapes: ReadonlyArray<Attack> = [
  {
    attack: "small and large bodies with deep nesting or __proto__",
    answer: "400",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "shapes")
      yield* member("computer", "pc", "shapes")
      const padding = `"padding":"${"x".repeat(50_000)}"`
      const texts = [
        body(`"x":${deep(200)}`),
        body(`${padding},"x":${deep(200)}`),
        body(`"x":${deep(200_000)}`),
        body('"__proto__":{"office":"witnesses"}'),
        body(`${padding},"__proto__":{}`),
        body('"x":{"y":{"__proto__":1}}'),
        "[]",
        '"text"',
        "null",
        "[".repeat(100) + "]".repeat(100)
      ]
      for (const [id, text] of texts.entries()) {
        agent.send(event(id, text))
        assert.match(yield* agent.waitFor("3/"), new RegExp(`^3/smcp,${id}\\[\\{"code":400,`), text.slice(0, 80))
      }
    })
  },
  {
    attack: "a body with 100 000 members, and arrays of a million arrays",
    answer: "400",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "shapes")
      const members = Array.from({ length: 100_000 }, (_, index) => `"k${index}":${index}`).join(",")
      agent.send(event(1, `{"agent":"mallory","req_id":"r","computer":"absent",${members}}`))
      assert.match(yield* agent.next, /^3\/smcp,1\[\{"code":400,/)
      agent.send(event(2, `[${"[],".repeat(1_000_000)}[]]`))
      assert.match(yield* agent.next, /^3\/smcp,2\[\{"code":400,/)
    })
  },
  {
    attack: "a message with three million spaces",
    answer: "accepted",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "shapes")
      const spaces = " ".repeat(1_000_000)
      const text = JSON.stringify(request("absent"))
      agent.send(`42/smcp,1[${spaces}"client:get_tools",${spaces}${text}${spaces}]`)
      assert.match(yield* agent.next, /^3\/smcp,1\[\{"code":404,/)
      agent.send(`42/smcp,2["client:get_tools",${text}]${spaces}`)
      assert.match(yield* agent.next, /^3\/smcp,2\[\{"code":404,/)
    })
  },
  {
    attack: "U+001E in a large body, as it is and as an escape",
    answer: "closed; accepted",
    run: Effect.gen(function* () {
      const escaped = yield* member("agent", "mallory", "shapes")
      const forged = (mark: string) =>
        event(1, `{"agent":"mallory","req_id":"r","computer":"absent","x":"${"y".repeat(50_000)}${mark}41/smcp,"}`)
      escaped.send(forged("\\u001e"))
      assert.match(yield* escaped.next, /^3\/smcp,1\[\{"code":404,/)
      escaped.send(forged("\u001e"))
      yield* escaped.closed
      const session = yield* polling
      // In a payload it ends the packet, and the rest is invalid.
      yield* session.post(forged("\u001e"))
      assert.strictEqual((yield* session.get).status, 400)
    })
  },
  {
    attack: "binary attachments: a few, more than 16, and an unexpected one",
    answer: "400, closed, closed",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "shapes")
      agent.send(`452-/smcp,1["client:get_tools",{"_placeholder":true,"num":0}]`, Buffer.alloc(10), Buffer.alloc(10))
      assert.match(yield* agent.next, /^3\/smcp,1\[\{"code":400,/)
      agent.send(`4517-/smcp,1["client:get_tools",{}]`)
      yield* agent.closed
      const other = yield* member("agent", "mallory", "shapes")
      other.send(Buffer.alloc(1000))
      yield* other.closed
    })
  },
  {
    attack: "replies of a Computer: not an object, too deep, too large",
    answer: "500, 500 and 413 to the Agent",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "shapes")
      const computer = yield* member("computer", "pc", "shapes")
      for (const [answer, code] of [
        ["[1]", 500],
        ["[]", 500],
        [`[${deep(200)}]`, 500],
        [`[{"x":"${"y".repeat(4_300_000)}"}]`, 500]
      ] as const) {
        agent.send(`42/smcp,7["client:get_tools",${JSON.stringify(request("pc"))}]`)
        const [, id = ""] = /^2\/smcp,(\d+)/.exec(yield* computer.waitFor("2/smcp,")) ?? []
        computer.send(`43/smcp,${id}${answer}`)
        assert.match(yield* agent.waitFor("3/smcp,7"), new RegExp(`^3/smcp,7\\[\\{"code":${code},`))
      }
    })
  }
]
