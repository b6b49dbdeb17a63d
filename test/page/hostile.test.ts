import { assert, describe, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import type { PageMember } from "../../src/domain/page/PageEvent.ts"
import { officeHash, officeViews } from "../../src/domain/page/route.ts"
import { waitUntil } from "./scripted/expectations.ts"
import { attack, findInjections, hostile } from "./scripted/hostileTexts.ts"
import { describePages, usePages } from "./scripted/usePages.ts"
import {
  makeApproval,
  makeCall,
  makeMember,
  makeNode,
  makeSession,
  makeSnapshot,
  makeTool,
  startTime
} from "./scripted/pageFixtures.ts"
import { RejectedCommand, type ScriptedServer } from "./scripted/ScriptedServer.ts"

const address = { line: "0.2", office: hostile("office") }
const computer = hostile("computer")
const features = { inspection: true, operatorCalls: true, approvals: true }
const member: PageMember = makeMember({
  ...address,
  features,
  name: computer,
  node: hostile("node"),
  subject: hostile("subject"),
  version: hostile("version")
})

const paramsSchema = {
  type: "object",
  properties: {
    [hostile("property")]: {
      type: "string",
      title: hostile("title"),
      description: hostile("help"),
      default: hostile("value")
    },
    choice: { enum: [hostile("choice")], default: hostile("choice") },
    nested: { type: "object", title: hostile("group"), properties: { [hostile("inner")]: { type: "integer" } } },
    either: {
      anyOf: [
        { type: "string", title: hostile("variant"), minLength: 0 },
        { type: "object", properties: {} }
      ]
    }
  },
  required: [hostile("property"), "nested", "either"]
}

const annotations = { title: hostile("annotation"), [hostile("hint")]: true }
const tool = makeTool({
  name: hostile("tool"),
  bundleId: hostile("bundle"),
  description: hostile("description"),
  paramsSchema,
  meta: { MCP_TOOL_ANNOTATION: JSON.stringify(annotations) }
})

const inspection = {
  servers: [
    {
      name: hostile("server"),
      state: "failed" as const,
      reason: hostile("reason"),
      since: startTime,
      restarts: 1,
      tools: 0,
      windows: 0,
      stderr: [hostile("stderr")]
    }
  ],
  consent: [{ tool: tool.name, rule: "forbidden" as const }],
  parts: [
    {
      kind: "device" as const,
      name: hostile("part"),
      state: hostile("partState"),
      reason: hostile("partReason"),
      offers: [hostile("offer")]
    }
  ]
}

/** A member that imitates the words of a diff in its texts. */
const imitation = "\n+ added\n− removed"

const approval = makeApproval({
  id: hostile("approvalId"),
  computer,
  tool: hostile("approvalTool"),
  requester: hostile("requester"),
  arguments: hostile("arguments") + imitation,
  previousArguments: hostile("previous") + imitation,
  askedBy: hostile("askedBy"),
  reason: hostile("approvalReason"),
  change: {
    approvedAt: startTime,
    approvedBy: hostile("approvedBy"),
    differences: [{ part: "description", before: hostile("before"), after: hostile("after") }]
  }
})

const markdown = `# ${hostile("heading")}\n\n> ${hostile("quote")}\n\n| a |\n|---|\n| ${hostile("cell").replaceAll("|", "")} |\n
- ${hostile("item")}\n\n\`\`\`html\n${hostile("code")}\n\`\`\`\n\n<div onclick="${attack}">${hostile("html")}</div>\n
[data](data:text/html,<script>${attack}</script>) [vb](vbscript:x) ![svg](data:image/svg+xml;base64,PHN2Zy8+)`

const prepare = (server: ScriptedServer): void => {
  server.session = makeSession({ subject: hostile("operator") })
  server.snapshot = makeSnapshot({
    members: [member, { ...member, sid: "sid-agent", role: "agent", name: hostile("agent") }],
    nodes: [
      makeNode({
        node: hostile("node"),
        version: hostile("nodeVersion"),
        lines: [hostile("line")],
        reason: hostile("nodeReason"),
        components: { [hostile("component")]: { ok: false, error: hostile("componentError") } }
      })
    ],
    calls: [
      makeCall({
        ...address,
        computer,
        id: "call-hostile",
        agent: hostile("agent"),
        subject: hostile("callSubject"),
        event: hostile("event"),
        tool: tool.name,
        reqId: hostile("reqId"),
        traceId: hostile("trace"),
        node: hostile("node"),
        status: { _tag: "Progressing", computer, progress: 1, message: hostile("progress") }
      }),
      makeCall({
        ...address,
        computer,
        id: "call-failed",
        endedAt: startTime,
        outcome: hostile("outcome"),
        decision: { _tag: "Decided", computer, isAllowed: true, by: hostile("decider") }
      }),
      makeCall({
        ...address,
        computer,
        id: "call-waiting",
        agent: hostile("waitingAgent"),
        tool: tool.name,
        status: {
          _tag: "WaitingForConsent",
          computer,
          approval: { id: approval.id, server: hostile("approvalServer"), tool: approval.tool, waitSeconds: 300 }
        }
      })
    ]
  })
  server.firstEvents = [
    { _tag: "Inspected", ...address, computer, inspection },
    {
      _tag: "Rejected",
      node: "n1",
      at: startTime,
      what: "connection",
      reason: hostile("rejection"),
      subject: hostile("rejectedSubject"),
      remoteAddress: hostile("remoteAddress")
    }
  ]
  const document = {
    docRef: hostile("docRef"),
    uri: hostile("dpe"),
    fileUri: hostile("fileUri"),
    fileType: hostile("fileType"),
    title: hostile("document"),
    pageCount: 1,
    summary: hostile("summary"),
    server: hostile("documentServer"),
    lastModified: hostile("modified")
  }
  server.replies.GetTools = () => ({ tools: [tool], startingServers: [hostile("starting")] })
  server.replies.GetDesktop = () => ({ desktops: [`window://${hostile("window")}\n\n${markdown}`] })
  const prompt = {
    name: hostile("prompt"),
    title: hostile("promptTitle"),
    description: hostile("promptDescription"),
    arguments: [{ name: hostile("argument"), title: hostile("argumentTitle"), description: hostile("argumentHelp") }]
  }
  server.replies.SendMcpRequest = ({ method }) => ({
    result:
      method === "servers/list"
        ? { servers: [{ id: hostile("promptServer"), completions: true, prompts: [prompt] }] }
        : {
            completion: { values: [hostile("completion")] },
            messages: [{ role: hostile("role"), content: { type: "text", text: hostile("message") } }]
          }
  })
  server.replies.FindDocuments = () => ({ documents: [document], totalCount: 1 })
  server.replies.GetDocument = () => ({
    mimeType: `text/markdown ${hostile("mime")}`,
    text: markdown,
    isTruncated: true
  })
  server.replies.GetApproval = () => approval
  server.replies.DecideApproval = () => ({ ...approval, state: "denied", denialReason: hostile("denialReason") })
  server.replies.GetCallBody = () => ({ params: hostile("params"), result: hostile("result") })
  server.call = async function* () {
    yield { _tag: "Started", as: "agent", name: hostile("caller") }
    yield {
      _tag: "Result",
      result: {
        content: [
          { type: "text", text: hostile("text") },
          { type: "image", mimeType: 'image/svg+xml"><script>', data: "PHN2Zy8+" },
          { type: "resource_link", name: hostile("link"), uri: `javascript:${attack}` },
          { type: "resource", resource: { uri: hostile("uri"), text: hostile("resource") } },
          { type: hostile("type"), value: hostile("value") }
        ],
        structuredContent: { [hostile("key")]: hostile("structured") }
      }
    }
  }
}

/** Fields that a view shows, by the word at the start of their texts. */
const shownFields: { readonly [view: string]: ReadonlyArray<string> } = {
  offices: [
    "office",
    "node",
    "nodeVersion",
    "line",
    "nodeReason",
    "component",
    "componentError",
    "rejection",
    "operator"
  ],
  overview: [
    "computer",
    "agent",
    "subject",
    "version",
    "node",
    "server",
    "reason",
    "tool",
    "part",
    "partState",
    "partReason",
    "offer"
  ],
  settings: ["computer", "agent", "subject", "version", "node"],
  inbox: [
    "approvalTool",
    "waitingAgent",
    "computer",
    "approvalServer",
    "askedBy",
    "approvalReason",
    "arguments",
    "previous",
    "approvedBy",
    "before",
    "after",
    "decider"
  ],
  tools: [
    "tool",
    "bundle",
    "description",
    "annotation",
    "hint",
    "starting",
    "property",
    "title",
    "help",
    "group",
    "inner"
  ],
  results: ["text", "link", "uri", "resource", "structured"],
  prompts: [
    "prompt",
    "promptTitle",
    "promptDescription",
    "promptServer",
    "argument",
    "argumentTitle",
    "argumentHelp",
    "role",
    "message"
  ],
  windows: ["window", "heading", "quote", "cell", "item", "code", "html"],
  activity: ["tool", "computer", "agent", "callSubject", "event", "reqId", "trace", "progress", "params", "result"],
  documents: ["document", "fileType", "summary", "documentServer", "modified", "dpe", "mime", "heading"]
}

const hashOf = (view: string): string => {
  if (view === "offices") return "#/offices"
  const target = { tool: tool.name, computer }
  const parameters: { readonly [view: string]: { readonly [name: string]: string } } = {
    tools: target,
    prompts: { prompt: hostile("prompt"), server: hostile("promptServer"), computer },
    activity: { call: "call-hostile" },
    documents: { computer, uri: hostile("dpe") },
    overview: { computer }
  }
  const known =
    view === "results" ? "tools" : view === "inbox" ? view : (officeViews.find((one) => one === view) ?? "overview")
  return officeHash(address, known, parameters[known])
}

const isShown = async (page: Page, field: string): Promise<boolean> =>
  ((await page.locator("body").textContent()) ?? "").includes(`${field} <img`)

describePages("office page", () => {
  const { open } = usePages()

  describe("hostile texts of members", () => {
    for (const [view, fields] of Object.entries(shownFields)) {
      it(`shows them as text in the view ${view}`, async () => {
        const { page } = await open(hashOf(view), prepare)
        if (view === "results") await page.getByRole("button", { name: "Run" }).click()
        if (view === "prompts") {
          await page.getByLabel(/^argument/).focus()
          await page.locator("datalist option").waitFor({ state: "attached" })
          await page.getByRole("button", { name: "Get the messages" }).click()
        }
        for (const field of fields) await waitUntil(() => isShown(page, field))
        assert.deepStrictEqual(await page.evaluate(findInjections), [])
      })
    }

    it("shows them as text in errors and dialogs", async () => {
      const { page } = await open(hashOf("overview"), (server) => {
        prepare(server)
        server.replies.Disconnect = () => new RejectedCommand(400, hostile("error"))
      })
      await page.getByRole("button", { name: /^Disconnect computer/ }).click()
      await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click()
      await waitUntil(() => isShown(page, "error"))
      assert.deepStrictEqual(await page.evaluate(findInjections), [])
    })

    it("shows them as text in the outcome of an approval", async () => {
      const { page } = await open(hashOf("inbox"), prepare)
      await page.getByRole("button", { name: /^Deny/ }).click()
      await waitUntil(() => isShown(page, "denialReason"))
      assert.deepStrictEqual(await page.evaluate(findInjections), [])
    })

    it("keeps the words of a diff apart from lines that imitate them", async () => {
      const { page } = await open(hashOf("inbox"), prepare)
      const diff = page.locator(".diff").last()
      await diff.waitFor()
      assert.deepStrictEqual(await diff.locator(".diff-word").allTextContents(), ["− removed", "+ added", "unchanged"])
      assert.strictEqual(await diff.locator(".diff-same bdi").textContent(), imitation.trim())
    })

    it("shows invisible characters as escapes, and drops terminal sequences", async () => {
      const { page } = await open(hashOf("overview"), prepare)
      const heading = page.getByRole("heading", { name: /Computer computer/ })
      const text = (await heading.textContent()) ?? ""
      assert.include(text, String.raw`\u202ereversed\u202c \u2066isolated\u2069 zero\u200bwidth`)
      assert.include(text, "width red ")
    })

    it("is detected by the checks of these tests", async () => {
      const { faults, page } = await open("")
      await page.evaluate(`{
        const link = document.createElement("a")
        link.href = "javascript:void 0"
        link.textContent = "\\u202E"
        const image = document.createElement("img")
        image.src = "https://evil.example/i.png"
        document.querySelector("main").append(link, image)
      }`)
      assert.deepStrictEqual(await page.evaluate(findInjections), [
        "https://evil.example/i.png",
        "javascript:void 0",
        "control in \u202E"
      ])
      await waitUntil(async () => (await faults()).some((fault) => fault.startsWith("img-src https://evil")))
      // The planted violation goes with its document.
      await page.goto("about:blank")
    })
  })

  describe("long texts", () => {
    const long = `${"x".repeat(1_000)}\n`.repeat(1_000)

    it("shows the start of a window of 1 MB, and all of it on demand", async () => {
      const { page } = await open("#/office/0.2/team/windows", ({ replies }) => {
        replies.GetDesktop = () => ({ desktops: [`window://notes/long\n\n${long}last words`] })
      })
      const button = page.getByRole("button", { name: "show all 1,001,010 characters" })
      await button.waitFor()
      assert.isBelow(((await page.locator("main").textContent()) ?? "").length, 10_000)
      await button.click()
      await page.getByText("last words").waitFor()
      await page.getByRole("button", { name: "show less" }).click()
      await button.waitFor()
    })

    it("keeps its size when every field has 1 MB", async () => {
      const windows = [`window://${long}\n\n${long}`]
      const { page } = await open("#/office/0.2/team/tools", (server) => {
        server.snapshot = makeSnapshot({
          members: [makeMember({ name: long, subject: long, version: long, node: long })],
          nodes: [makeNode({ node: long, reason: long, components: { [long]: { ok: false, error: long } } })],
          calls: [makeCall({ computer: long, tool: long, agent: long, reqId: long, id: long })]
        })
        server.replies.GetTools = () => ({ tools: [makeTool({ name: long, description: long })], startingServers: [] })
        server.replies.GetDesktop = () => ({ desktops: windows })
      })
      await page.getByText("1 of 1 tools").waitFor()
      for (const [view, title] of [
        ["windows", "Windows"],
        ["activity", "Activity"],
        ["overview", "Overview"]
      ]) {
        await page.evaluate(`location.hash = "#/office/0.2/team/${view}"`)
        await page
          .getByRole("heading", { name: new RegExp(title ?? "") })
          .first()
          .waitFor()
      }
      await page.evaluate(`location.hash = "#/offices"`)
      await page.getByRole("heading", { name: "Nodes" }).waitFor()
      assert.isBelow(((await page.locator("body").textContent()) ?? "").length, 50_000)
    })
  })
})
