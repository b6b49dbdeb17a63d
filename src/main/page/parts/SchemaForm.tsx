import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { isJsonObject, type JsonObject, parseJsonObject } from "../../../domain/json.ts"
import { findProblems } from "../../../domain/schemas/formValue.ts"
import { type FormField, jsonObjectField } from "../../../domain/schemas/schemaForm.ts"
import { LabelledField, FormProblems, GroupFields, type GroupFieldsProps } from "./FormFields.tsx"
import { Name } from "./Text.tsx"

interface SchemaFormProps extends Pick<GroupFieldsProps, "value" | "onChange" | "suggestions" | "onFocus"> {
  readonly field: FormField
  readonly label: string
  /** Stands instead of fields. */
  readonly empty: string
  /** What was found wrong with the values that were sent before. */
  readonly found?: ReadonlyMap<string, string> | undefined
  /** The values can be entered as JSON as well, which is checked where it is sent. */
  readonly hasJson?: boolean
  /** The values have no problems, and are sent. */
  readonly onSend: (value: JsonObject) => void
  /** What follows the fields. */
  readonly children: ComponentChildren
}

const invalidControls = ":is(input, select, textarea)[aria-invalid=true], [role=radiogroup][aria-invalid=true] input"

/** A form for the values of a schema. It is sent when it has no problems. Otherwise it shows them, and focuses the first one. */
export const SchemaForm = ({ children, empty, field, found, hasJson, label, onSend, ...props }: SchemaFormProps) => {
  const { onChange, value } = props
  const form = useRef<HTMLFormElement>(null)
  const fieldValues = useRef(value)
  const [isTyped, setTyped] = useState(false)
  const [attempts, setAttempts] = useState(0)
  // JSON that is entered in part leaves the fields as they are.
  if (isJsonObject(value)) fieldValues.current = value
  const isGroup = field._tag === "Group"
  const own = findProblems(isTyped ? jsonObjectField : field, value)
  const problems = new Map(found)
  if (attempts > 0 || isTyped) for (const { message, path } of own) problems.set(path, message)
  useLayoutEffect(() => {
    if (attempts > 0) form.current?.querySelector<HTMLElement>(invalidControls)?.focus()
  }, [attempts])
  const change = (typed: boolean) => (changed: unknown) => {
    setTyped(typed)
    onChange(changed)
  }
  const send = (event: Event) => {
    event.preventDefault()
    // A date that is entered in part has no text.
    const inputs = form.current?.querySelectorAll("input") ?? []
    const partial = [...inputs].find(({ validity }) => validity.badInput)
    if (partial !== undefined) return void partial.reportValidity()
    setAttempts(own.length === 0 ? 0 : attempts + 1)
    const sent = parseJsonObject(JSON.stringify(value))
    if (own.length === 0 && sent !== undefined) onSend(sent)
  }
  const json = (
    <LabelledField
      field={jsonObjectField}
      label={hasJson ? "Arguments as JSON" : "JSON"}
      path=""
      required
      isInner={isGroup}
      value={value}
      onChange={change(isGroup)}
    />
  )
  return (
    <form ref={form} aria-label={label} autocomplete="off" noValidate onSubmit={send}>
      <FormProblems value={problems}>
        {isGroup && field.members.length === 0 && <p class="note">{empty}</p>}
        {isGroup ? <GroupFields {...props} field={field} value={fieldValues.current} onChange={change(false)} /> : json}
        {isGroup && hasJson && (
          <details class="field">
            <summary>Arguments as JSON</summary>
            {json}
          </details>
        )}
      </FormProblems>
      {problems.size > 0 && !isTyped && (
        <p class="error" role="alert">
          <Name of={problems.get("") ?? "Some values do not fit the form."} length={1_000} />
        </p>
      )}
      {children}
    </form>
  )
}
