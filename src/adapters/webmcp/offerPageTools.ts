import { errorMessage, truncateQuote } from "../../domain/errorMessage.ts"
import { type JsonObject, parseJson, parseJsonOrThrow } from "../../domain/json.ts"
import type { Functions, FunctionTool } from "../functions/FunctionDefinitions.ts"

/** A tool as a page lists it: text of third parties, whose members may have any value, or throw. */
type ListedTool = { readonly [member: string]: unknown }

interface WebMcp extends Pick<EventTarget, "addEventListener" | "removeEventListener"> {
  readonly getTools: () => Promise<Iterable<ListedTool>>
  readonly executeTool: (tool: unknown, input: object, options: { readonly signal: AbortSignal }) => Promise<unknown>
}

interface PageGlobals {
  readonly document?: { readonly modelContext?: Partial<WebMcp> }
  readonly navigator?: { readonly modelContext?: Partial<WebMcp> }
}

/** In characters of JSON: no tool makes the list of tools too long for a message. */
const maxDefinitionLength = 32_768

const findWebMcp = (): WebMcp => {
  const { document, navigator } = Object(globalThis) as PageGlobals
  // The navigator of a polyfill warns when it is read.
  const context = document?.modelContext ?? navigator?.modelContext
  if (context?.getTools && context.executeTool) return context as WebMcp
  throw new Error(
    "This page has no WebMCP that lists and runs tools. Serve it over HTTPS or from localhost, and load a polyfill first, " +
      "such as @mcp-b/webmcp-polyfill, or use Chrome 150 or later with an origin trial token or chrome://flags/#enable-webmcp-testing."
  )
}

/** Chrome before 155 and polyfills convert the input to text, which is its JSON; later versions take the object. */
const toInput = (params: JsonObject): object =>
  Object.defineProperty({ ...params }, Symbol.toPrimitive, { value: () => JSON.stringify(params) })

/** WebMCP gives an object as its JSON text. */
const toResult = (result: unknown): unknown => {
  const value = typeof result === "string" ? parseJson(result) : undefined
  return typeof value === "object" && value !== null ? value : result
}

/** Reads each member once, since it may be a getter. The schema is an object, its JSON text in Chrome before 154, or absent. */
const readDefinition = ({ annotations, description, inputSchema, title }: ListedTool, name: string) => {
  const { consequentialHint, readOnlyHint, untrustedContentHint } = Object(annotations) as ListedTool
  const schema = typeof inputSchema === "string" ? inputSchema : JSON.stringify(inputSchema ?? {})
  return {
    name,
    ...(typeof title === "string" && title !== "" && { title }),
    description: typeof description === "string" ? description : "",
    params: parseJsonOrThrow(schema || "{}") as JsonObject,
    annotations: {
      readOnlyHint: readOnlyHint === true,
      ...(consequentialHint === true && { destructiveHint: true }),
      ...(untrustedContentHint === true && { untrustedContentHint: true })
    }
  }
}

// oxlint-disable-next-line no-console -- a page has no other log
const warn = (problem: string): void => console.warn(problem)

/**
 * Offers the tools that the page registers through WebMCP, and follows their changes. Returns the function that stops this
 * and withdraws the tools. `onProblem` receives why a tool is not offered, or why the tools cannot be read; by default the
 * console warns. Throws in a page whose WebMCP does not list and run tools.
 */
export const offerPageTools = (
  computer: { readonly offer: (functions: Functions) => () => void },
  { onProblem = warn }: { readonly onProblem?: (problem: string) => void } = {}
): (() => void) => {
  const page = findWebMcp()
  const stopping = new AbortController()
  const offered = new Map<string, { readonly tool: ListedTool; readonly text: string; readonly withdraw: () => void }>()
  let reported: ReadonlySet<string> = new Set()
  let reading = Promise.resolve()
  let isQueued = false

  const offer = (name: string, tool: ListedTool): void => {
    const definition = readDefinition(tool, name)
    const text = JSON.stringify(definition)
    if (text.length > maxDefinitionLength) throw new Error("its definition is too long")
    const before = offered.get(name)
    // A tool that is registered again is the same for the office, and since Chrome 160 another object for the page.
    const run: FunctionTool["run"] = (params, { signal }) =>
      page.executeTool(offered.get(name)?.tool, toInput(params), { signal }).then(toResult)
    const isSame = before?.text === text
    const withdraw = isSame ? before.withdraw : computer.offer({ tools: [{ ...definition, run }] })
    offered.set(name, { tool, text, withdraw })
  }

  const withdrawAllBut = (names: ReadonlySet<string>): void => {
    for (const [name, { withdraw }] of offered) {
      if (names.has(name)) continue
      offered.delete(name)
      withdraw()
    }
  }

  /** Updates the office, whose Computer makes one change of all that happens in one task. */
  const update = (list: Iterable<ListedTool>): void => {
    const names = new Set<string>()
    const problems = new Set<string>()
    for (const tool of list) {
      let name = ""
      try {
        // Tools of frames are for the Computers of these frames.
        if ((tool["source"] ?? tool["window"] ?? globalThis) !== globalThis) continue
        name = String(tool["name"])
        offer(name, tool)
        names.add(name)
      } catch (error) {
        problems.add(`WebMCP tool ${JSON.stringify(truncateQuote(name))}: ${errorMessage(error)}`)
      }
    }
    withdrawAllBut(names)
    for (const problem of problems) if (!reported.has(problem)) onProblem(problem)
    reported = problems
  }

  const onChange = (): void => {
    if (isQueued) return
    isQueued = true
    reading = reading.then(async () => {
      isQueued = false
      try {
        const list = await page.getTools()
        if (!stopping.signal.aborted) update(list)
      } catch (error) {
        onProblem(`WebMCP tools cannot be read: ${errorMessage(error)}`)
      }
    })
  }

  page.addEventListener("toolchange", onChange, { signal: stopping.signal })
  onChange()
  return () => {
    stopping.abort()
    withdrawAllBut(new Set())
  }
}
