import { useMemo, useState } from "preact/hooks"
import { asObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import type { PageCommandOf, PageReplies } from "../../../domain/page/PageCommand.ts"
import type { OfficeAddress } from "../../../domain/page/PageEvent.ts"
import {
  completionsIn,
  messagesIn,
  type PromptMessage,
  promptsIn,
  type ServerPrompt
} from "../../../domain/page/prompts.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { initialValue } from "../../../domain/schemas/formValue.ts"
import { formOfSchema } from "../../../domain/schemas/schemaForm.ts"
import { sendCommand, useAction, useComputerReplies, useReplies } from "../connection/api.ts"
import { replaceParameters } from "../connection/store.ts"
import { CopyButton } from "../parts/controls.tsx"
import { ContentBlockView } from "../parts/Markdown.tsx"
import { Empty, ErrorText, exampleCommand } from "../parts/missing.tsx"
import { SchemaForm } from "../parts/SchemaForm.tsx"
import { Facts } from "../parts/Table.tsx"
import { LongText, Name } from "../parts/Text.tsx"
import { ListWithDetails, OfferRow } from "../parts/VirtualList.tsx"
import { ToolNotes } from "./tools/ToolsView.tsx"

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
  const [value, setValue] = useState(() => initialValue(form))
  const [focused, setFocused] = useState("")
  const fetched = useAction<PageReplies["SendMcpRequest"]>()
  // The MCP server suggests values for the argument that has the focus.
  const { [focused]: entered, ...others } = asObject(value)
  const completion = requestOf(props, "completion/complete", {
    ref: { type: "ref/prompt", name: prompt.name },
    argument: { name: focused, value: stringOrEmpty(entered) },
    context: { arguments: others }
  })
  const wanted = { key: focused, version: JSON.stringify(value), command: completion }
  const replies = useReplies(prompt.hasCompletions && focused !== "" ? [wanted] : [])
  const { error, reply } = replies.get(focused) ?? {}
  const suggestions = reply && new Map([[focused, completionsIn(reply.result)]])
  return (
    <>
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
        label="Arguments"
        value={value}
        onChange={setValue}
        suggestions={suggestions}
        onFocus={setFocused}
        empty="The prompt has no arguments."
        onSend={(args) =>
          fetched.run((signal) =>
            sendCommand(requestOf(props, "prompts/get", { name: prompt.name, arguments: args }), signal)
          )
        }
      >
        {error !== undefined && <ErrorText error={error} isAlert />}
        <p>
          <button type="submit" class="primary" disabled={fetched.isRunning}>
            Get the messages
          </button>
        </p>
      </SchemaForm>
      <div role="status">{fetched.isRunning && "loading"}</div>
      {fetched.error !== undefined && <ErrorText error={fetched.error} isAlert />}
      {fetched.reply !== undefined && <Messages messages={messagesIn(fetched.reply.result)} />}
    </>
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
