import { useEffect, useMemo, useState } from "preact/hooks"
import {
  completionsIn,
  messagesIn,
  type PromptMessage,
  promptsIn,
  type ServerPrompt
} from "../../../domain/page/prompts.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { replaceParameters } from "../connection/store.ts"
import { useAction, useComputerReplies, pageErrorOf, sendCommand } from "../connection/api.ts"
import { Empty, ErrorText, exampleCommand } from "../parts/missing.tsx"
import { ListWithDetails, OfferRow } from "../parts/VirtualList.tsx"
import { ToolNotes } from "./tools/ToolsView.tsx"
import { isJsonObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import { initialDraft, valueOfDraft } from "../../../domain/page/form/formDraft.ts"
import { formOfSchema } from "../../../domain/schemas/schemaForm.ts"
import type { PageCommandOf, PageError, PageReplies } from "../../../domain/page/PageCommand.ts"
import type { OfficeAddress } from "../../../domain/page/PageEvent.ts"
import { ContentBlockView } from "../parts/Markdown.tsx"
import { CopyButton } from "../parts/controls.tsx"
import { SchemaForm, useFormCheck } from "../parts/FormFields.tsx"
import { Facts } from "../parts/Table.tsx"
import { LongText, Name } from "../parts/Text.tsx"

/** A prompt with its Computer. */
interface ComputerPrompt {
  /** Unique in the office. */
  readonly key: string
  readonly computer: string
  readonly prompt: ServerPrompt
}

interface PromptFormProps {
  readonly address: OfficeAddress
  readonly chosen: ComputerPrompt
}

/** Time without another change before values are suggested, in milliseconds. */
const completionDelay = 250

/** Messages that are shown. */
const maxMessages = 100

const requestOf = (
  { address, chosen: { computer, prompt } }: PromptFormProps,
  method: PageCommandOf<"SendMcpRequest">["method"],
  params: JsonObject
): PageCommandOf<"SendMcpRequest"> => ({
  _tag: "SendMcpRequest",
  ...address,
  computer,
  server: prompt.server,
  method,
  params
})

/** The values that the MCP server suggests for the argument that has the focus. */
const useCompletions = (props: PromptFormProps, args: JsonObject, name: string | undefined) => {
  const [suggestions, setSuggestions] = useState<ReadonlyMap<string, ReadonlyArray<string>>>(new Map())
  const [error, setError] = useState<PageError>()
  const { hasCompletions, name: prompt } = props.chosen.prompt
  useEffect(() => {
    if (!hasCompletions || name === undefined) return undefined
    const abort = new AbortController()
    const { [name]: value, ...others } = args
    const timer = setTimeout(() => {
      const params = {
        ref: { type: "ref/prompt", name: prompt },
        argument: { name, value: stringOrEmpty(value) },
        context: { arguments: others }
      }
      sendCommand(requestOf(props, "completion/complete", params), abort.signal).then(
        ({ result }) => {
          setError(undefined)
          setSuggestions((before) => new Map(before).set(name, completionsIn(result)))
        },
        (failure: unknown) => {
          if (!abort.signal.aborted) setError(pageErrorOf(failure))
        }
      )
    }, completionDelay)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [name, JSON.stringify(args)])
  return { suggestions, error }
}

const Messages = ({ messages }: { readonly messages: ReadonlyArray<PromptMessage> }) => (
  <section aria-label="Messages">
    <h3>Messages</h3>
    {messages.slice(0, maxMessages).map(({ content, role }, index) => (
      <div key={index} class="block">
        <span class="tag">
          <Name of={role} length={40} />
        </span>
        <ContentBlockView block={content} />
      </div>
    ))}
    <CopyButton
      label="Copy the texts"
      text={messages.map(({ content }) => stringOrEmpty(content["text"])).join("\n\n")}
    />
  </section>
)

/** One prompt: its arguments, with the values that its MCP server suggests, and its messages. */
const PromptForm = (props: PromptFormProps) => {
  const { computer, prompt } = props.chosen
  const form = useMemo(() => formOfSchema(prompt.argumentsSchema), [JSON.stringify(prompt.argumentsSchema)])
  const [draft, setDraft] = useState(() => initialDraft(form))
  const [focused, setFocused] = useState<string>()
  const fetched = useAction<PageReplies["SendMcpRequest"]>()

  const { problems, value } = valueOfDraft(form, draft)
  const args = isJsonObject(value) ? value : {}
  const { error, suggestions } = useCompletions(props, args, focused)

  const { check, form: box, shown } = useFormCheck(problems)
  const get = (event: Event): void => {
    event.preventDefault()
    if (!check()) return
    const request = requestOf(props, "prompts/get", { name: prompt.name, arguments: args })
    fetched.run((signal) => sendCommand(request, signal))
  }
  return (
    <form ref={box} autocomplete="off" noValidate onSubmit={get}>
      <h2>
        <Name of={prompt.title === "" ? prompt.name : prompt.title} />
      </h2>
      <Facts
        facts={[
          ["Computer", <Name of={computer} />],
          ["MCP server", <Name of={prompt.server} />],
          ["Name", <Name of={prompt.name} />]
        ]}
      />
      {prompt.description !== "" && <LongText text={prompt.description} />}
      <SchemaForm
        field={form}
        draft={draft}
        onChange={setDraft}
        problems={shown}
        suggestions={suggestions}
        onFocus={setFocused}
        empty="The prompt has no arguments."
        missing="The prompt has too many arguments for a form."
      />
      {error !== undefined && <ErrorText error={error} isAlert />}
      <p>
        <button type="submit" class="primary" disabled={fetched.isRunning}>
          Get the messages
        </button>
      </p>
      <div role="status">{fetched.isRunning && "loading"}</div>
      {fetched.error !== undefined && <ErrorText error={fetched.error} isAlert />}
      {fetched.reply !== undefined && <Messages messages={messagesIn(fetched.reply.result)} />}
    </form>
  )
}

/** The prompts of all MCP servers of an office, and the messages of one. */
export const PromptsView = ({ address, parameters }: OfficeRoute) => {
  const { errors, isLoading, replies } = useComputerReplies<"SendMcpRequest">(address, (computer) => ({
    _tag: "SendMcpRequest",
    ...address,
    computer,
    method: "servers/list",
    params: {}
  }))
  const prompts = replies.flatMap(({ computer: { name: computer }, reply }) =>
    promptsIn(reply.result).map((prompt, index): ComputerPrompt => {
      const key = JSON.stringify([computer, prompt.server, prompt.name, index])
      return { key, computer, prompt }
    })
  )
  const chosen = prompts.find(
    ({ computer, prompt }) =>
      prompt.name === parameters["prompt"] &&
      prompt.server === parameters["server"] &&
      computer === parameters["computer"]
  )
  const select = ({ computer, prompt: { name, server } }: ComputerPrompt) =>
    replaceParameters({ prompt: name, server, computer })
  return (
    <>
      <ToolNotes errors={errors} starting={[]} />
      {isLoading && (
        <p role="status" class="note">
          loading
        </p>
      )}
      {prompts.length === 0 && !isLoading && (
        <Empty command={exampleCommand(address.office)}>
          No MCP server of this office offers prompts. The configuration of a Computer names its MCP servers:
        </Empty>
      )}
      {prompts.length > 0 && (
        <ListWithDetails
          label="Prompts"
          items={prompts}
          keyOf={({ key }) => key}
          selected={chosen?.key}
          onSelect={select}
          detailsLabel="Prompt"
          hint="Choose a prompt to get its messages."
          details={chosen && <PromptForm key={chosen.key} address={address} chosen={chosen} />}
        >
          {({ computer, prompt }) => <OfferRow of={prompt} computer={computer} />}
        </ListWithDetails>
      )}
    </>
  )
}
