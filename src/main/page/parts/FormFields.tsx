import { createContext } from "preact"
import { useContext, useId, useState } from "preact/hooks"
import { asObject, stringOrEmpty } from "../../../domain/json.ts"
import {
  choiceIndex,
  emptyValue,
  fitsField,
  formatEntry,
  initialValue,
  isEmptyValue,
  formMembers,
  parseEntry,
  pathOfItem,
  pathOfMember
} from "../../../domain/schemas/formValue.ts"
import type { FieldOf, FormField } from "../../../domain/schemas/schemaForm.ts"
import { Select, SmallButton } from "./controls.tsx"
import { LongText, Name } from "./Text.tsx"
import { truncate, visibleLine } from "./visibleText.ts"

/** What is wrong with the values of a form, by the paths of its fields as in `filter.items[0]`. */
export const FormProblems = createContext<ReadonlyMap<string, string>>(new Map())

interface FieldProps<F extends FormField = FormField> {
  readonly field: F
  /** JSON, of which parts may be unfinished. */
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  /** The name of the field for screen readers, unique in the form. */
  readonly label: string
  readonly path: string
  readonly required: boolean
  /** Values that a text may have. */
  readonly suggestions?: ReadonlyArray<string> | undefined
}

interface ControlProps<F extends FormField = FormField> extends FieldProps<F> {
  readonly id: string
  /** The name of a control without a visible label. */
  readonly name?: string | undefined
  /** What is wrong with this value. */
  readonly problem?: string | undefined
}

const problemAttributes = ({ id, problem }: Pick<ControlProps, "id" | "problem">) =>
  problem === undefined ? {} : { "aria-invalid": true, "aria-describedby": `${id}-problem` }

/** The id of a control, and its name and its problem for screen readers. */
const controlAttributes = ({ id, name, problem }: Pick<ControlProps, "id" | "name" | "problem">) => ({
  id,
  ...(name === undefined ? { "aria-labelledby": `${id}-label` } : { "aria-label": name }),
  ...problemAttributes({ id, problem })
})

const textAttributes = (props: ControlProps, value: string, onText: (text: string) => void) => ({
  ...controlAttributes(props),
  value,
  onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => onText(currentTarget.value)
})

/** The attributes of a control whose value is parsed from a text, which it keeps: `1.` is 1, and stays `1.`. */
const useEntry = (props: ControlProps) => {
  const { field, onChange, required, value } = props
  const [text, setText] = useState("")
  const parse = (entered: string) => parseEntry(field, required, entered)
  const shown = formatEntry(field, value)
  return textAttributes(props, formatEntry(field, parse(text)) === shown ? text : shown, (entered) => {
    setText(entered)
    onChange(parse(entered))
  })
}

/** The offset of this browser at a local time: `+01:00`. A time without a date is one of today. */
const localOffset = (local: string): string => {
  const minutes = -new Date(local.includes("T") ? local : Date.now()).getTimezoneOffset()
  return `${minutes < 0 ? "-" : "+"}${new Date(Math.abs(minutes) * 60_000).toISOString().slice(11, 16)}`
}

/** Inputs of browsers by formats. */
const inputTypes: ReadonlyMap<string, "date" | "datetime-local" | "email" | "time" | "url"> = new Map(
  Object.entries({ date: "date", "date-time": "datetime-local", email: "email", time: "time", uri: "url", url: "url" })
)

/** What an input of the browser shows of a text: those of dates and times show no text of another format. */
const shownBy = (type: string, text: string): string => {
  const input = document.createElement("input")
  input.type = type
  input.value = text
  return input.value
}

/** A text in its input. The time zone of a time is that of the browser, unless the value has another one. */
const TextField = (props: ControlProps<FieldOf<"Text">>) => {
  const { field, id, onChange, required, suggestions, value } = props
  const text = stringOrEmpty(value)
  const type = inputTypes.get(field.format ?? "") ?? "text"
  const isTime = type === "datetime-local" || type === "time"
  const [, time = "", offset = ""] = /^(.*?)(z|[+-]\d\d:\d\d)?$/is.exec(text) ?? []
  const local = shownBy(type, isTime ? time : text)
  const isForeign = local === "" && text !== ""
  const shownTime = isTime ? local : ""
  const isLocal = shownTime === "" || offset === localOffset(shownTime)
  const attributes = textAttributes(props, isForeign || !isTime ? text : local, (entered) => {
    const seconds = /:\d\d:/.test(entered) ? "" : ":00"
    const isTimeEntered = isTime && !isForeign && entered !== ""
    const changed = isTimeEntered ? `${entered}${seconds}${isLocal ? localOffset(entered) : offset}` : entered
    onChange(changed === "" ? emptyValue(field, required) : changed)
  })
  if (field.isSecret) return <input {...attributes} type="password" />
  if (text.includes("\n") || text.length > 80) return <textarea {...attributes} rows={6} />
  const list = suggestions && `${id}-values`
  const zone = isLocal ? localOffset(shownTime) : offset.replace(/z/i, "")
  return (
    <span class="row">
      <input
        {...attributes}
        {...(list !== undefined && { list })}
        placeholder={type === "text" ? (field.format ?? "") : ""}
        type={isForeign ? "text" : type}
      />
      {isTime && !isForeign && (
        <span class="note">{isLocal || offset !== "" ? `UTC${zone}` : "without a time zone"}</span>
      )}
      {suggestions !== undefined && (
        <datalist id={list}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </span>
  )
}

/** A text: an input of numbers drops other texts, and its decimal mark depends on the language of the browser. */
const NumberField = (props: ControlProps<FieldOf<"Number">>) => {
  const { integer, max, min } = props.field
  const bounds = [min === undefined ? "" : `from ${min}`, max === undefined ? "" : `to ${max}`].join(" ").trim()
  return <input {...useEntry(props)} type="text" inputMode={integer ? "numeric" : "decimal"} placeholder={bounds} />
}

const JsonField = (props: ControlProps) => (
  <textarea {...useEntry(props)} class="code" rows={4} spellcheck={false} placeholder="JSON" />
)

const FlagField = ({ onChange, value, ...rest }: ControlProps) => (
  <input
    {...controlAttributes(rest)}
    type="checkbox"
    checked={value === true}
    onChange={({ currentTarget: { checked } }) => onChange(checked)}
  />
)

/** The length of a value in a list of choices. */
const maxChoiceLength = 100

/** The names of choices, with their values where the titles are not unique. */
const choiceNames = ({ choices }: FieldOf<"Choice">): ReadonlyArray<string> => {
  const isUnique = new Set(choices.map(({ label }) => label)).size === choices.length
  return choices.map(({ label, value }) =>
    visibleLine(truncate(isUnique ? label : `${label} (${JSON.stringify(value)})`, maxChoiceLength))
  )
}

/** More options are a list that opens. */
const maxRadios = 5

/** A choice of one value, of which few are all visible. What is optional may have none. */
const ChoiceField = (props: ControlProps<FieldOf<"Choice">>) => {
  const { field, id, onChange, value } = props
  const required = props.required && field.nullable !== true
  const current = choiceIndex(field, value)
  const isList = field.choices.length > maxRadios
  const none = required && (!isList || current >= 0) ? [] : [[-1, required ? "choose one" : "not set"] as const]
  const options = [...none, ...choiceNames(field).map((name, index) => [index, name] as const)]
  const choose = (index: number) =>
    onChange(index < 0 ? emptyValue(field, props.required) : field.choices[index]?.value)
  const attributes = controlAttributes(props)
  if (isList)
    return (
      <Select attributes={attributes} value={current} options={options} onSelect={(index) => choose(Number(index))} />
    )
  return (
    <div {...attributes} role="radiogroup" class="row">
      {options.map(([index, name]) => (
        <label key={index}>
          <input type="radio" name={id} checked={index === current} onChange={() => choose(index)} /> {name}
        </label>
      ))}
    </div>
  )
}

/** A list of choices. Other items stay. */
const ChoicesField = ({ choice, ...props }: ControlProps & { readonly choice: FieldOf<"Choice"> }) => {
  const { id, onChange, required, value } = props
  const items: ReadonlyArray<unknown> = Array.isArray(value) ? value : []
  const indexOf = (item: unknown) => choiceIndex(choice, item)
  const choose = (index: number, isChosen: boolean) => {
    const others = items.filter((item) => indexOf(item) !== index)
    const next = isChosen ? [...others, choice.choices[index]?.value] : others
    const sorted = next.toSorted((one, other) => indexOf(one) - indexOf(other))
    onChange(sorted.length === 0 && !required ? undefined : sorted)
  }
  return (
    <div {...controlAttributes({ id, name: props.name })} role="group" class="row">
      {choiceNames(choice).map((name, index) => (
        <label key={index}>
          <input
            {...problemAttributes(props)}
            id={`${id}-${index}`}
            type="checkbox"
            checked={items.some((item) => indexOf(item) === index)}
            onChange={({ currentTarget: { checked } }) => choose(index, checked)}
          />{" "}
          {name}
        </label>
      ))}
    </div>
  )
}

const ListField = ({ field, label, onChange, path, value }: FieldProps<FieldOf<"List">>) => {
  const items: ReadonlyArray<unknown> = Array.isArray(value) ? value : []
  return (
    <>
      {items.map((item, index) => (
        <div key={index} class="row nowrap">
          <LabelledField
            field={field.item}
            value={item}
            label={`${label} ${index + 1}`}
            path={pathOfItem(path, index)}
            required
            onChange={(changed) => onChange(items.with(index, changed))}
          />
          <SmallButton description={`Remove ${label} ${index + 1}`} onPress={() => onChange(items.toSpliced(index, 1))}>
            Remove
          </SmallButton>
        </div>
      ))}
      <SmallButton description={`Add to ${label}`} onPress={() => onChange([...items, initialValue(field.item)])}>
        Add
      </SmallButton>
    </>
  )
}

/** The parts that name a variant. */
const maxNamedParts = 3

/** Names a variant: by its title, by the fixed value that tells it from the others, or by what it consists of. */
const variantName = (field: FormField): string => {
  if (field.title !== undefined) return field.title
  switch (field._tag) {
    case "Text":
      return field.format ?? "text"
    case "Choice":
      return field.choices.length > maxNamedParts ? "a fixed value" : choiceNames(field).join(" or ")
    case "Group": {
      const [fixed] = field.members.flatMap(({ field: member }) =>
        member._tag === "Choice" && member.choices.length === 1 ? choiceNames(member) : []
      )
      const names = field.members.slice(0, maxNamedParts).map(({ name }) => name)
      return fixed ?? (names.join(", ") || "several fields")
    }
    case "List":
      return `list: ${variantName(field.item)}`
    case "Variants":
      return field.variants.map(variantName).join(" or ")
    case "Number":
      return "number"
    case "Flag":
      return "yes or no"
    case "Json":
      return "JSON"
  }
}

/** A value of one of several kinds: the chosen one while the value fits it, or else the first one that it fits. */
const VariantsField = ({ field, id, onChange, value, ...rest }: ControlProps<FieldOf<"Variants">>) => {
  const { variants } = field
  const [chosen, setChosen] = useState<FormField>()
  const fitting = variants.filter((variant) => fitsField(variant, value))
  const shown =
    fitting.find((variant) => variant === chosen) ?? fitting.find(({ _tag }) => _tag !== "Json") ?? fitting[0]
  const choose = (number: unknown) => {
    const variant = variants[Number(number) - 1]
    setChosen(variant)
    onChange(variant && initialValue(variant))
  }
  const choices = variants.map((variant, index) => ({ value: index + 1, label: variantName(variant) }))
  return (
    <>
      <ChoiceField
        {...rest}
        id={id}
        name={visibleLine(`Kind of ${rest.label}`)}
        field={{ _tag: "Choice", choices }}
        value={shown && variants.indexOf(shown) + 1}
        onChange={choose}
        required
      />
      {shown !== undefined && (
        <LabelledField
          {...rest}
          key={variants.indexOf(shown)}
          field={shown}
          value={value}
          required
          isInner
          onChange={onChange}
        />
      )}
    </>
  )
}

export interface GroupFieldsProps extends Pick<FieldProps, "value" | "onChange"> {
  readonly field: FieldOf<"Group">
  readonly path?: string
  /** Values that the texts may have, by the names of their members. */
  readonly suggestions?: ReadonlyMap<string, ReadonlyArray<string>> | undefined
  /** A member gets the focus. */
  readonly onFocus?: ((name: string) => void) | undefined
}

export const GroupFields = ({ field, onChange, onFocus, path = "", suggestions, value }: GroupFieldsProps) =>
  formMembers(field, value).map(({ name, ...member }) => (
    <LabelledField
      key={name}
      {...member}
      label={name}
      path={pathOfMember(path, name)}
      suggestions={suggestions?.get(name)}
      onFocus={onFocus}
      onChange={(changed) => onChange({ ...asObject(value), [name]: changed })}
    />
  ))

const yesOrNo = { _tag: "Choice", choices: ["yes", "no"].map((label) => ({ label, value: label === "yes" })) } as const

/** What a field is entered with. */
const Control = (props: ControlProps) => {
  const { field, onChange, path, required, value } = props
  switch (field._tag) {
    case "Text":
      return <TextField {...props} field={field} />
    case "Number":
      return <NumberField {...props} field={field} />
    case "Flag": {
      const isSet = typeof value === "boolean" && (required || field.initial !== undefined) && !field.nullable
      return isSet ? <FlagField {...props} /> : <ChoiceField {...props} field={{ ...field, ...yesOrNo }} />
    }
    case "Choice":
      return <ChoiceField {...props} field={field} />
    case "List":
      if (field.item._tag === "Choice") return <ChoicesField {...props} choice={field.item} />
      return <ListField {...props} field={field} />
    case "Variants":
      return <VariantsField {...props} field={field} />
    case "Group":
      return <GroupFields field={field} value={value} path={path} onChange={onChange} />
    case "Json":
      return <JsonField {...props} />
  }
}

/** The problem of a field. One of JSON has those of its parts. */
const useProblem = (path: string, isJson: boolean): string | undefined => {
  const problems = useContext(FormProblems)
  const isInside = (at: string) => isJson && at.startsWith(path) && /[.[]/.test(at[path.length] ?? "")
  return problems.get(path) ?? [...problems].find(([at]) => isInside(at))?.[1]
}

/** A name without what distinguishes `due_date` from "Due date". */
const lettersOf = (name: string): string => name.replaceAll(/[\s_-]/g, "").toLowerCase()

interface LabelledFieldProps extends FieldProps {
  /** The field is the only one inside of what has its label. */
  readonly isInner?: boolean
  readonly onFocus?: ((name: string) => void) | undefined
}

/** A field with its label and its description. One of several fields is added by a button, unless it is required. */
export const LabelledField = ({ isInner = false, onFocus, ...props }: LabelledFieldProps) => {
  const id = useId()
  // JSON that fits the field while it is entered stays in its text area.
  const [isEntered, setEntered] = useState(false)
  const { field, label, onChange, path, required, value } = props
  const isJson = isEntered || field._tag === "Json" || !fitsField(field, value)
  const isEmpty = isEmptyValue(field, value)
  const isList = field._tag === "List" && field.item._tag !== "Choice"
  const isComposite = !isJson && (isList || field._tag === "Group" || field._tag === "Variants")
  const found = useProblem(path, isJson)
  // The chosen variant shows it.
  const problem = field._tag === "Variants" && isComposite && !isEmpty ? undefined : found
  const given = { ...props, id, problem, name: isInner ? visibleLine(label) : undefined }
  const enterJson = (changed: unknown) => {
    setEntered(changed !== undefined)
    onChange(changed)
  }
  const control = isJson ? <JsonField {...given} onChange={enterJson} /> : <Control {...given} />
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
  if (isInner || !isComposite)
    return (
      <div class={isComposite ? "nested" : "form-field"} onFocusIn={onFocus && (() => onFocus(label))}>
        {!isInner && (
          <label id={`${id}-label`} for={id}>
            {title}
          </label>
        )}
        {control}
        {below}
      </div>
    )
  return (
    <fieldset>
      <legend>{title}</legend>
      {below}
      {isEmpty ? (
        <SmallButton description={`Add ${label}`} onPress={() => onChange(initialValue(field))}>
          Add
        </SmallButton>
      ) : (
        <div class="nested">{control}</div>
      )}
      {!isEmpty && (!required || field.nullable) && (
        <SmallButton description={`Leave out ${label}`} onPress={() => onChange(emptyValue(field, required))}>
          Leave out
        </SmallButton>
      )}
    </fieldset>
  )
}
