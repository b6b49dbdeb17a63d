import { useMemo } from "preact/hooks"
import { diffLines, type DiffPart, groupDiff } from "../../../../domain/approvals/diffLines.ts"
import { formatNumberOf } from "../../../../domain/text/format.ts"
import { LongText } from "../../parts/Text.tsx"

/** The words beside the lines of each kind. A foreign text cannot imitate them: it stands in another column. */
const words: { readonly [Kind in Exclude<DiffPart["kind"], "omitted">]: string } = {
  same: "unchanged",
  removed: "− removed",
  added: "+ added"
}

/** The lines in which two foreign texts differ. */
export const Diff = ({ after, before }: { readonly before: string; readonly after: string }) => {
  const parts = useMemo(() => groupDiff(diffLines(before, after)), [before, after])
  return (
    <div class="diff">
      {parts.map(({ count, kind, text }, index) =>
        kind === "omitted" ? (
          <p key={index} class="note">
            … {formatNumberOf(count, "unchanged line")}
          </p>
        ) : (
          <div key={index} class={`diff-part diff-${kind}`}>
            <span class="diff-word">{words[kind]}</span>
            <LongText text={text} code />
          </div>
        )
      )}
    </div>
  )
}
