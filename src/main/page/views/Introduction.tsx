import { useState } from "preact/hooks"
import { readSetting, writeSetting } from "../connection/storage.ts"

const setting = "a2c.introduction"

/** Explains the system until it is closed. */
export const Introduction = () => {
  const [isOpen, setOpen] = useState(() => readSetting(setting) !== "closed")
  return (
    <details
      class="card introduction"
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        setOpen(open)
        writeSetting(setting, open ? "open" : "closed")
      }}
    >
      <summary>What is this?</summary>
      <p>
        This Server connects <strong>Agents</strong>, the hosts of language models, with <strong>Computers</strong>. A
        Computer runs MCP servers, and offers their tools, windows and documents. Members meet in an{" "}
        <strong>office</strong>: one Agent, and any number of Computers.
      </p>
      <ul>
        <li>
          Choose an office to see its members and MCP servers, its tools, the desktop that the Agent sees, its calls,
          documents, devices and tool packs.
        </li>
        <li>
          Under Try, call a tool yourself. The members see the call under the name of the operator. The Computer asks
          for consent as it does for an Agent.
        </li>
        <li>In the inbox of an office, decide about calls that wait for an approval, where the Computer allows it.</li>
        <li>Otherwise this page only observes. It is not a member of an office.</li>
      </ul>
    </details>
  )
}
