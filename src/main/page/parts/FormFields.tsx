import type { JSX } from "preact"
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks"
import {
  absent,
  type Draft,
  type DraftProblem,
  initialDraft,
  memberNamed,
  pathOfItem,
  pathOfMember
} from "../../../domain/page/form/formDraft.ts"
import type { FormField } from "../../../domain/schemas/schemaForm.ts"
import { joinDateTime, splitDateTime, textFormatProblem } from "../../../domain/schemas/textFormats.ts"
import { Select, SmallButton } from "./controls.tsx"
import { LongText, Name } from "./Text.tsx"
import { truncate, visibleLine } from "./visibleText.ts"

/** What is wrong with the values, by the paths of fields as in `filter.items[0]`. */
type Problems = ReadonlyMap<string, string>

interface FieldProps<F extends FormField = FormField> {
  readonly field: F
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** The name of the field for screen readers, unique in the form. */
  readonly label: string
  readonly path: string
  readonly required: boolean
  readonly id: string
  readonly problems?: Problems | undefined
  /** What is wrong with this value. */
  readonly problem?: string | undefined
  /** Values that a text may have. */
  readonly suggestions?: ReadonlyArray<string> | undefined
}

/** The id of a control, and its problem for screen readers. */
const controlAttributes = ({ id, problem }: Pick<FieldProps, "id" | "problem">) =>
  problem === undefined ? { id } : { id, "aria-invalid": true, "aria-describedby": `${id}-problem` }

/** The attributes of a control whose draft is a text. An optional field without text is absent. */
const textAttributes = ({ draft, field, onChange, required, ...rest }: FieldProps, kind: "Text" | "Json" = "Text") => ({
  ...controlAttributes(rest),
  value: draft._tag === kind ? draft.text : "",
  onInput: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
    onChange(value === "" && (!required || field.nullable) ? absent : { _tag: kind, text: value })
})

type FieldOf<Tag extends FormField["_tag"]> = Extract<FormField, { readonly _tag: Tag }>

/** The offset of this browser at a local time: `+01:00`. A time without a date is one of today. */
const localOffset = (local: string): string => {
  const minutes = -new Date(local.includes("T") ? local : Date.now()).getTimezoneOffset()
  return `${minutes < 0 ? "-" : "+"}${new Date(Math.abs(minutes) * 60_000).toISOString().slice(11, 16)}`
}

interface TimeFieldProps {
  readonly attributes: ReturnType<typeof textAttributes>
  readonly type: "datetime-local" | "time"
  /** The value in its parts. */
  readonly shown: NonNullable<ReturnType<typeof splitDateTime>>
}

/** A time, with a date or without. Its time zone is that of the browser, unless the value has another one. */
const TimeField = ({ attributes, shown: { local, offset }, type }: TimeFieldProps) => {
  const isLocal = local === "" || offset === localOffset(local)
  const change = (text: string) =>
    attributes.onInput({ currentTarget: { value: joinDateTime(text, isLocal ? localOffset(text) : offset) } })
  const zone = local === "" ? localOffset(local) : offset.replace(/z/i, "")
  return (
    <span class="row">
      <input {...attributes} type={type} value={local} onInput={({ currentTarget: { value } }) => change(value)} />
      <span class="note">{local !== "" && offset === "" ? "without a time zone" : `UTC${zone}`}</span>
    </span>
  )
}

type InputType = "date" | "datetime-local" | "email" | "time" | "url"

/** Inputs of browsers by formats. They show no text of another format. */
const inputTypes: ReadonlyMap<string, InputType> = new Map(
  Object.entries({ date: "date", "date-time": "datetime-local", email: "email", time: "time", uri: "url", url: "url" })
)

const TextField = (props: FieldProps<FieldOf<"Text">>) => {
  const { field, id, suggestions } = props
  const { format = "" } = field
  const attributes = textAttributes(props)
  const text = attributes.value
  const type = inputTypes.get(format) ?? "text"
  if (field.isSecret === true) return <input {...attributes} autocomplete="off" type="password" />
  if (type === "datetime-local" || type === "time") {
    const shown = text === "" ? { local: "", offset: "" } : splitDateTime(text, type !== "time")
    if (shown !== undefined) return <TimeField attributes={attributes} shown={shown} type={type} />
  }
  if (text.includes("\n") || text.length > 80) return <textarea {...attributes} rows={6} />
  const list = suggestions && `${id}-values`
  return (
    <>
      <input
        {...attributes}
        type={type === "date" && text !== "" && textFormatProblem(format, text) !== undefined ? "text" : type}
        placeholder={type === "text" ? format : ""}
        {...(list !== undefined && { list })}
      />
      {suggestions !== undefined && (
        <datalist id={list}>
          {suggestions.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
    </>
  )
}

/** A text: an input of numbers drops other texts, and its decimal mark depends on the language of the browser. */
const NumberField = (props: FieldProps<FieldOf<"Number">>) => {
  const { integer, max, min } = props.field
  const bounds = [min === undefined ? "" : `from ${min}`, max === undefined ? "" : `to ${max}`].join(" ").trim()
  return (
    <input {...textAttributes(props)} type="text" inputMode={integer ? "numeric" : "decimal"} placeholder={bounds} />
  )
}

const FlagField = ({ draft, field, onChange, ...rest }: FieldProps) => (
  <input
    {...controlAttributes(rest)}
    type="checkbox"
    checked={draft._tag === "Flag" ? draft.value : field.initial === true}
    onChange={(event) => onChange({ _tag: "Flag", value: event.currentTarget.checked })}
  />
)

const JsonField = (props: FieldProps) => (
  <textarea {...textAttributes(props, "Json")} class="code" rows={4} spellcheck={false} placeholder="JSON" />
)

/** The length of a value in a list of choices. */
const maxChoiceLength = 100

/** The titles of values, or else the values. Values beside titles that are not unique. */
const formatChoices = ({ labels = [], values }: FieldOf<"Choice">): ReadonlyArray<string> => {
  const titles = values.map(
    (value, index) => labels[index] ?? (typeof value === "string" ? value : JSON.stringify(value))
  )
  const isUnique = new Set(titles).size === titles.length
  return titles.map((title, index) =>
    visibleLine(truncate(isUnique ? title : `${title} (${JSON.stringify(values[index])})`, maxChoiceLength))
  )
}

/** More options are a list that opens. */
const maxRadios = 5

interface OptionsProps extends Pick<FieldProps, "id" | "problem" | "required"> {
  readonly options: ReadonlyArray<string>
  /** The indexes of the chosen options. */
  readonly chosen: ReadonlyArray<number>
  readonly onChoose: (chosen: ReadonlyArray<number>) => void
  /** Several options may be chosen. */
  readonly isMultiple?: boolean
  /** The name of the group, unless it has a label. */
  readonly name?: string
}

/** A choice among options, of which few are all visible. What is optional may have no value, with the index -1. */
const Options = ({ chosen, isMultiple = false, name, onChoose, options, required, ...rest }: OptionsProps) => {
  const { id } = rest
  const [current = -1] = chosen
  const isList = !isMultiple && options.length > maxRadios
  const isClearable = !isMultiple && (!required || (isList && current < 0))
  const all = [
    ...(isClearable ? [[-1, required ? "choose one" : "not set"] as const] : []),
    ...options.map((label, index) => [index, label] as const)
  ]
  const choose = (index: number, isChosen = true) => {
    const others = isMultiple ? chosen.filter((one) => one !== index) : []
    onChoose(isChosen && index >= 0 ? [...others, index].toSorted((one, other) => one - other) : others)
  }
  const attributes = controlAttributes(rest)
  if (isList) {
    const named = { ...attributes, "aria-label": name }
    return <Select attributes={named} value={current} options={all} onSelect={(value) => choose(Number(value))} />
  }
  return (
    <div
      {...(isMultiple ? { id } : attributes)}
      role={isMultiple ? "group" : "radiogroup"}
      class="row"
      {...(name === undefined ? { "aria-labelledby": `${id}-label` } : { "aria-label": name })}
    >
      {all.map(([index, label]) => (
        <label key={index}>
          <input
            {...(isMultiple && { ...attributes, id: `${id}-${index}` })}
            type={isMultiple ? "checkbox" : "radio"}
            name={id}
            checked={isMultiple ? chosen.includes(index) : index === current}
            onChange={({ currentTarget: { checked } }) => choose(index, checked)}
          />{" "}
          {label}
        </label>
      ))}
    </div>
  )
}

/** A list of choices. Other items stay. */
const ChoicesField = ({ choice, draft, onChange, ...rest }: FieldProps & { readonly choice: FieldOf<"Choice"> }) => {
  const items = draft._tag === "List" ? draft.items : []
  const change = (indexes: ReadonlyArray<number>) => {
    const others = items.filter(({ _tag }) => _tag !== "Choice")
    const next = [...others, ...indexes.map((index) => ({ _tag: "Choice", index }) as const)]
    onChange(next.length === 0 && !rest.required ? absent : { _tag: "List", items: next })
  }
  const chosen = items.flatMap((item) => (item._tag === "Choice" ? [item.index] : []))
  return <Options {...rest} isMultiple options={formatChoices(choice)} chosen={chosen} onChoose={change} />
}

const ListField = ({ draft, field, label, onChange, path, problems }: FieldProps<FieldOf<"List">>) => {
  const items = draft._tag === "List" ? draft.items : []
  const change = (next: ReadonlyArray<Draft>) => onChange({ _tag: "List", items: next })
  return (
    <div class="nested">
      {items.map((item, index) => (
        <div key={index} class="row nowrap">
          <Field
            field={field.item}
            draft={item}
            label={`${label} ${index + 1}`}
            path={pathOfItem(path, index)}
            problems={problems}
            required
            onChange={(changed) => change(items.with(index, changed))}
          />
          <SmallButton description={`Remove ${label} ${index + 1}`} onPress={() => change(items.toSpliced(index, 1))}>
            Remove
          </SmallButton>
        </div>
      ))}
      <SmallButton description={`Add to ${label}`} onPress={() => change([...items, initialDraft(field.item)])}>
        Add
      </SmallButton>
    </div>
  )
}

const variantNames: { readonly [Tag in FormField["_tag"]]: string } = {
  Text: "text",
  Number: "number",
  Flag: "yes or no",
  Choice: "a fixed value",
  Group: "several fields",
  List: "list",
  Variants: "one of several",
  Json: "JSON"
}

/** The names of the members of a group in the name of a variant. */
const maxNamedMembers = 3

/** Names a variant: by its title, by the fixed value that tells it from the others, or by what it consists of. */
const variantName = (field: FormField): string => {
  if (field.title !== undefined) return field.title
  if (field._tag === "Choice" && field.values.length <= maxNamedMembers) return formatChoices(field).join(" or ")
  if (field._tag === "Text" && field.format !== undefined) return field.format
  if (field._tag === "List") return `list: ${variantName(field.item)}`
  if (field._tag !== "Group") return variantNames[field._tag]
  const [fixed] = field.members.flatMap(({ field: member }) =>
    member._tag === "Choice" && member.values.length === 1 ? formatChoices(member) : []
  )
  if (fixed !== undefined) return fixed
  const names = field.members.slice(0, maxNamedMembers).map(({ name }) => name)
  return names.length === 0 ? variantNames.Group : names.join(", ")
}

const VariantsField = (props: FieldProps<FieldOf<"Variants">>) => {
  const { draft, field, id, label, onChange, path, problems } = props
  const { index, draft: inner = absent } = draft._tag === "Variant" ? draft : { index: undefined }
  const chosen = field.variants[index ?? -1]
  const draftOf = (at: number): Draft => {
    const variant = field.variants[at]
    return variant === undefined ? absent : { _tag: "Variant", index: at, draft: initialDraft(variant) }
  }
  const names = field.variants.map(variantName)
  return (
    <div class="nested">
      <Options
        id={id}
        name={visibleLine(`Kind of ${label}`)}
        options={names.map((name, at) =>
          visibleLine(names.indexOf(name) === names.lastIndexOf(name) ? name : `${at + 1}: ${name}`)
        )}
        chosen={index === undefined ? [] : [index]}
        onChoose={([at = -1]) => onChange(draftOf(at))}
        required
      />
      {chosen !== undefined && index !== undefined && (
        <Field
          key={index}
          field={chosen}
          draft={inner}
          label={label}
          path={path}
          problems={problems}
          required
          isInner
          onChange={(changed) => onChange({ _tag: "Variant", index, draft: changed })}
        />
      )}
    </div>
  )
}

interface GroupFieldsProps extends Pick<FieldProps<FieldOf<"Group">>, "draft" | "field" | "onChange" | "problems"> {
  readonly path?: string
  /** Values that the texts may have, by the names of their members. */
  readonly suggestions?: ReadonlyMap<string, ReadonlyArray<string>>
  /** A member gets the focus. */
  readonly onFocus?: (name: string) => void
}

/** The members of a group. */
export const GroupFields = ({
  draft,
  field,
  onChange,
  onFocus,
  path = "",
  problems,
  suggestions
}: GroupFieldsProps) => {
  const members: ReadonlyMap<string, Draft> = draft._tag === "Group" ? draft.members : new Map()
  const names = new Set([...field.members.map(({ name }) => name), ...members.keys()])
  return Array.from(names, (name) => memberNamed(field, name)).map(({ field: member, name, required }) => (
    <Field
      key={name}
      field={member}
      draft={members.get(name) ?? absent}
      label={name}
      path={pathOfMember(path, name)}
      required={required}
      problems={problems}
      suggestions={suggestions?.get(name)}
      onFocus={onFocus}
      onChange={(changed) => onChange({ _tag: "Group", members: new Map(members).set(name, changed) })}
    />
  ))
}

/** How a field is shown: as one control, as visible options, as a checkbox before its label, or as several fields. */
type Shape = "control" | "options" | "checkbox" | "composite"

/** What a field is entered with. */
const controlOf = (props: FieldProps): readonly [shape: Shape, control: JSX.Element] => {
  const { draft, field, onChange, path, problems, required } = props
  if (draft._tag === "Json" || field._tag === "Json") return ["control", <JsonField {...props} />]
  const choose =
    (draftOf: (index: number) => Draft) =>
    ([index]: ReadonlyArray<number>) =>
      onChange(index === undefined ? absent : draftOf(index))
  switch (field._tag) {
    case "Text":
      return ["control", <TextField {...props} field={field} />]
    case "Number":
      return ["control", <NumberField {...props} field={field} />]
    case "Flag": {
      const isSet = typeof field.initial === "boolean" || (required && draft._tag === "Flag")
      if (isSet && !field.nullable) return ["checkbox", <FlagField {...props} />]
      const chosen = draft._tag === "Flag" ? [Number(!draft.value)] : []
      const onChoose = choose((index) => ({ _tag: "Flag", value: index === 0 }))
      return ["options", <Options {...props} options={["yes", "no"]} chosen={chosen} onChoose={onChoose} />]
    }
    case "Choice": {
      const given = { ...props, required: required && !field.nullable, options: formatChoices(field) }
      const chosen = draft._tag === "Choice" ? [draft.index] : []
      const onChoose = choose((index) => ({ _tag: "Choice", index }))
      const shape = field.values.length <= maxRadios ? "options" : "control"
      return [shape, <Options {...given} chosen={chosen} onChoose={onChoose} />]
    }
    case "List":
      if (field.item._tag === "Choice") return ["options", <ChoicesField {...props} choice={field.item} />]
      return ["composite", <ListField {...props} field={field} />]
    case "Variants":
      return ["composite", <VariantsField {...props} field={field} />]
    case "Group": {
      const members = <GroupFields field={field} draft={draft} onChange={onChange} path={path} problems={problems} />
      return ["composite", <div class="nested">{members}</div>]
    }
  }
}

/** The problem of a field. One of JSON has those of its parts. */
const problemAt = (problems: Problems, path: string, isJson: boolean): string | undefined =>
  problems.get(path) ??
  (isJson ? [...problems].find(([at]) => at.startsWith(path) && /[.[]/.test(at[path.length] ?? "")) : undefined)?.[1]

/** A name without what distinguishes `due_date` from "Due date". */
const lettersOf = (name: string): string => name.replaceAll(/[\s_-]/g, "").toLowerCase()

interface LabelledFieldProps extends Omit<FieldProps, "id" | "problem"> {
  /** The field stands inside another one with the same label. */
  readonly isInner?: boolean
  readonly onFocus?: ((label: string) => void) | undefined
}

/** A field with its label and its description. An optional composite field is added by a button. */
const Field = ({ isInner = false, onFocus, ...given }: LabelledFieldProps) => {
  const id = useId()
  const { draft, field, label, onChange, path, problems = new Map<string, string>(), required } = given
  const problem = problemAt(problems, path, draft._tag === "Json" || field._tag === "Json")
  const [shape, control] = controlOf({ ...given, id, problem })
  const isEmpty = draft._tag === "Absent" || draft._tag === "Null"
  const title = (
    <>
      <Name of={field.title ?? label} />
      {required ? " *" : ""}
      {field.title !== undefined && lettersOf(field.title) !== lettersOf(label) && (
        <span class="note">
          {" "}
          <Name of={label} />
        </span>
      )}
    </>
  )
  const below = (
    <>
      {problem !== undefined && (
        <p id={`${id}-problem`} class="error">
          <Name of={problem} length={1_000} />
        </p>
      )}
      {field.description !== undefined && <LongText text={field.description} />}
    </>
  )
  if (shape === "composite") {
    if (isInner && !isEmpty) return control
    return (
      <fieldset>
        <legend>{title}</legend>
        {below}
        {isEmpty ? (
          <SmallButton description={`Add ${label}`} onPress={() => onChange(initialDraft(field))}>
            Add
          </SmallButton>
        ) : (
          <>
            {control}
            {(!required || field.nullable) && (
              <SmallButton description={`Leave out ${label}`} onPress={() => onChange(absent)}>
                Leave out
              </SmallButton>
            )}
          </>
        )}
      </fieldset>
    )
  }
  return (
    <div class="form-field" {...(onFocus !== undefined && { onFocusIn: () => onFocus(label) })}>
      {shape === "checkbox" && control}
      {shape === "options" ? (
        <span id={`${id}-label`} class="label">
          {title}
        </span>
      ) : (
        <label for={id}>{title}</label>
      )}
      {shape !== "checkbox" && control}
      {below}
    </div>
  )
}

/** Lets a form be sent when it has no problems. Otherwise it shows them at its fields, and focuses the first one. */
export const useFormCheck = (problems: ReadonlyArray<DraftProblem>) => {
  const form = useRef<HTMLFormElement>(null)
  const [attempts, setAttempts] = useState(0)
  useLayoutEffect(() => {
    const invalid = ":is(input, select, textarea)[aria-invalid=true], [role=radiogroup][aria-invalid=true] input"
    if (attempts > 0) form.current?.querySelector<HTMLElement>(invalid)?.focus()
  }, [attempts])
  return {
    form,
    shown: new Map(attempts === 0 ? [] : problems.map(({ message, path }) => [path, message])),
    /** True when the form may be sent. */
    check: (): boolean => {
      // A date that is entered in part has no text.
      const isPartial = (control: Element) => control instanceof HTMLInputElement && control.validity.badInput
      const partial = [...(form.current?.elements ?? [])].find(isPartial)
      if (partial instanceof HTMLInputElement) return partial.reportValidity()
      setAttempts(problems.length === 0 ? 0 : attempts + 1)
      return problems.length === 0
    }
  }
}

interface SchemaFormProps extends Omit<GroupFieldsProps, "field"> {
  /** The form of a schema. */
  readonly field: FormField
  /** Stands instead of a form without members. */
  readonly empty: string
  /** Stands instead of a form that is no group of fields. */
  readonly missing: string
}

/** The form of a schema, or the reason why it is missing. */
export const SchemaForm = ({ empty, field, missing, ...rest }: SchemaFormProps) => {
  if (field._tag !== "Group") return <p class="note">{missing}</p>
  return (
    <>
      {field.members.length === 0 && <p class="note">{empty}</p>}
      <GroupFields {...rest} field={field} />
    </>
  )
}
