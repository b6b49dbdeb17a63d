import { useEffect, useMemo, useState } from "preact/hooks"
import { asObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
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
import { sendCommand, useAction, useComputerReplies } from "../connection/api.ts"
import { CopyButton } from "../parts/controls.tsx"
import { ContentBlockView } from "../parts/Markdown.tsx"
import { ErrorText } from "../parts/missing.tsx"
import { SchemaForm } from "../parts/SchemaForm.tsx"
import { Facts } from "../parts/Table.tsx"
import { LongText, Name } from "../parts/Text.tsx"
import { OffersView } from "./OffersView.tsx"

/** Time without another change before values are suggested, in milliseconds. */
const completionDelay = 250

/** Messages that are shown. */
const maxMessages = 100

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

interface PromptFormProps {
  readonly address: OfficeAddress
  readonly computer: string
  readonly prompt: ServerPrompt
}

/** One prompt: its arguments, with the values that its MCP server suggests, and its messages. */
const PromptForm = ({ address, computer, prompt }: PromptFormProps) => {
  const { argumentsSchema, description, hasCompletions, name, server, title } = prompt
  const form = useMemo(() => formOfSchema(argumentsSchema), [JSON.stringify(argumentsSchema)])
  const [value, setValue] = useState(() => initialValue(form))
  const [focused, setFocused] = useState("")
  const messages = useAction<ReadonlyArray<PromptMessage>>()
  const completions = useAction<ReadonlyMap<string, ReadonlyArray<string>>>()
  const request = { _tag: "SendMcpRequest", ...address, computer, server } as const
  useEffect(() => {
    if (!hasCompletions || focused === "") return undefined
    const { [focused]: entered, ...others } = asObject(value)
    const params = {
      ref: { type: "ref/prompt", name },
      argument: { name: focused, value: stringOrEmpty(entered) },
      context: { arguments: others }
    }
    const complete = async (signal: AbortSignal) => {
      const { result } = await sendCommand({ ...request, method: "completion/complete", params }, signal)
      return new Map([[focused, completionsIn(result)]])
    }
    const timer = setTimeout(() => completions.run(complete), completionDelay)
    return () => clearTimeout(timer)
  }, [focused, JSON.stringify(value)])
  const getMessages = (args: JsonObject) =>
    messages.run(async (signal) => {
      const { result } = await sendCommand(
        { ...request, method: "prompts/get", params: { name, arguments: args } },
        signal
      )
      return messagesIn(result)
    })
  return (
    <>
      <h2>
        <Name of={title === "" ? name : title} />
      </h2>
      <Facts
        facts={[
          ["Computer", <Name of={computer} />],
          ["MCP server", <Name of={server} />],
          ["Name", <Name of={name} />]
        ]}
      />
      {description !== "" && <LongText text={description} />}
      <SchemaForm
        field={form}
        label="Arguments"
        value={value}
        onChange={setValue}
        suggestions={completions.reply}
        onFocus={setFocused}
        empty="The prompt has no arguments."
        onSend={getMessages}
      >
        {completions.error !== undefined && <ErrorText error={completions.error} isAlert />}
        <p>
          <button type="submit" class="primary" disabled={messages.isRunning}>
            Get the messages
          </button>
        </p>
      </SchemaForm>
      <div role="status">{messages.isRunning && "loading"}</div>
      {messages.error !== undefined && <ErrorText error={messages.error} isAlert />}
      {messages.reply !== undefined && <Messages messages={messages.reply} />}
    </>
  )
}

/** The prompts of all MCP servers of an office, and the messages of one. */
export const PromptsView = (route: OfficeRoute) => {
  const { address } = route
  const fetched = useComputerReplies<"SendMcpRequest">(address, (computer) => ({
    _tag: "SendMcpRequest",
    ...address,
    computer,
    method: "servers/list",
    params: {}
  }))
  const offers = fetched.flatMap(({ computer: { name: computer }, reply }) =>
    promptsIn(reply?.result ?? {}).map((prompt, index) => {
      const { description, name, server } = prompt
      const parameters = { prompt: name, server, computer }
      const details = () => <PromptForm address={address} computer={computer} prompt={prompt} />
      return { key: JSON.stringify([parameters, index]), name, description, computer, server, parameters, details }
    })
  )
  return <OffersView {...route} fetched={fetched} kind="prompt" offers={offers} />
}
