import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { changedWindows, isFullscreenUri, parseDesktop, type ShownWindow } from "../../../domain/page/windows.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { currentOffice, versionOf } from "../connection/store.ts"
import { useSetting } from "../connection/storage.ts"
import { useReplies } from "../connection/api.ts"
import { ComputerCards, ReplyView } from "../parts/missing.tsx"
import { Select } from "../parts/controls.tsx"
import { Markdown } from "../parts/Markdown.tsx"
import { LongText, Name } from "../parts/Text.tsx"

const formats = ["markdown", "text"]

/** How long a changed window is highlighted, in milliseconds. */
const highlightTime = 2_000

/** The keys of windows that changed a moment ago. */
const useChanges = (windows: ReadonlyArray<ShownWindow>): ReadonlySet<string> => {
  // The first desktop is no change.
  const before = useRef(windows)
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    const keys = changedWindows(before.current, windows)
    before.current = windows
    if (keys.size === 0) return undefined
    setChanged(keys)
    const timer = setTimeout(() => setChanged(new Set()), highlightTime)
    return () => clearTimeout(timer)
  }, [windows])
  return changed
}

interface WindowsProps {
  readonly windows: ReadonlyArray<string>
  readonly isMarkdown: boolean
}

const Windows = ({ isMarkdown, windows }: WindowsProps) => {
  const shown = useMemo(() => parseDesktop(windows), [windows])
  const changed = useChanges(shown)
  if (shown.length === 0) return <p class="note">The desktop of this Computer is empty.</p>
  return (
    <ol class="plain">
      {shown.map(({ key, text, uri }) => (
        <li key={key} class={changed.has(key) ? "card window changed" : "card window"}>
          <h3>
            <Name of={uri} length={1_000} />{" "}
            {isFullscreenUri(uri) && (
              <span class="tag" title="It hides the other windows of its MCP server">
                full screen
              </span>
            )}{" "}
            {changed.has(key) && <span class="tag">changed</span>}
          </h3>
          {isMarkdown ? <Markdown text={text} /> : <LongText text={text} code />}
        </li>
      ))}
    </ol>
  )
}

/** The windows of all Computers, as the Agent sees them. */
export const DesktopView = ({ address }: OfficeRoute) => {
  const [format, setFormat] = useSetting("a2c.windowFormat")
  const isMarkdown = format !== "text"
  const { computers } = currentOffice(address)
  const commandOf = (computer: string) => ({ _tag: "GetDesktop", ...address, computer }) as const
  const fetchedOf = useReplies<"GetDesktop">(
    computers.map((computer) => ({ version: versionOf(computer, "desktop"), command: commandOf(computer.name) }))
  )
  return (
    <>
      <label class="row">
        Show windows as{" "}
        <Select
          value={isMarkdown ? "markdown" : "text"}
          options={formats.map((one) => [one, one])}
          onSelect={setFormat}
        />
      </label>
      <p class="note">In the order of the Agent. A full-screen window hides the other windows of its MCP server.</p>
      <ComputerCards address={address} hint="Windows are MCP resources with window:// URIs of its MCP servers:">
        {({ name }) => (
          <ReplyView {...fetchedOf(commandOf(name))}>
            {({ desktops }) => <Windows windows={desktops} isMarkdown={isMarkdown} />}
          </ReplyView>
        )}
      </ComputerCards>
    </>
  )
}
