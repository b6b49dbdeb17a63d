import { useMemo } from "preact/hooks"
import type { ApprovalView } from "../../../../domain/approvals/ApprovalView.ts"
import { diffLines, type DiffPart, groupDiff } from "../../../../domain/approvals/diffLines.ts"
import { type DescribedDifference, describeToolChange } from "../../../../domain/approvals/toolChange.ts"
import { formatNumberOf } from "../../../../domain/text/format.ts"
import { formatDateTime, LongText, Name } from "../../parts/Text.tsx"

/** The words beside the lines of each kind, and their classes. No foreign text can imitate them: it stands in another column. */
const words: { readonly [Kind in Exclude<DiffPart["kind"], "omitted">]: readonly [text: string, kind: string] } = {
  same: ["unchanged", "note"],
  removed: ["− removed", "bad"],
  added: ["+ added", "good"]
}

/** The lines in which two foreign texts differ. */
const Diff = ({ after, before }: { readonly before: string; readonly after: string }) => {
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
            <span class={`diff-word ${words[kind][1]}`}>{words[kind][0]}</span>
            <LongText text={text} code />
          </div>
        )
      )}
    </div>
  )
}

/** The changes of one part in words, with the lines beside them; without words the lines alone. */
const Difference = ({ after, before, sentences, title }: DescribedDifference) => (
  <>
    <h4>{title}</h4>
    <ul>
      {sentences.map((sentence, index) => (
        <li key={index}>
          <Name of={sentence} length={1_000} />
        </li>
      ))}
    </ul>
    <details open={sentences.length === 0}>
      <summary>Line by line</summary>
      <Diff before={before} after={after} />
    </details>
  </>
)

const Changes = ({ change }: { readonly change: NonNullable<ApprovalView["change"]> }) => (
  <section class="card warning" aria-label="Change of the tool">
    <h3>This tool has changed since it was approved</h3>
    <p>
      <Name of={change.approvedBy} /> approved it on {formatDateTime(change.approvedAt)}.
      {change.differences.length === 0 && " The difference is in a part that is too long to show, or a secret."}
    </p>
    {describeToolChange(change).map((one) => (
      <Difference key={one.title} {...one} />
    ))}
  </section>
)

/** What the Computer says about an approval: the change of the tool first, then the arguments. */
export const ApprovalDetails = ({ view }: { readonly view: ApprovalView }) => {
  const { arguments: text, argumentsDigest, change, previousArguments } = view
  return (
    <>
      {change !== undefined && <Changes change={change} />}
      <h3>Arguments</h3>
      <LongText text={text} code />
      {text.endsWith("…") && (
        <p class="error">
          The arguments are too long, and their end is missing. The SHA-256 of all of them is{" "}
          <Name of={argumentsDigest} />.
        </p>
      )}
      {previousArguments !== undefined &&
        (previousArguments === text ? (
          <p class="note">The last approved call of this tool had the same arguments.</p>
        ) : (
          <>
            <h3>Compared with the last approved call</h3>
            <Diff before={previousArguments} after={text} />
          </>
        ))}
    </>
  )
}
