import { useId } from "preact/hooks"
import { absent, type Draft, initialDraft } from "../../../domain/page/form/formDraft.ts"
import type { FormField } from "../../../domain/schemas/schemaForm.ts"
import { Select, SmallButton } from "./controls.tsx"
import { LongText, Name } from "./Text.tsx"
import { truncate, visibleLine } from "./visibleText.ts"

interface FieldProps<F extends FormField = FormField> {
  readonly field: F
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** The name of the field for screen readers, unique in the form. */
  readonly label: string
  readonly required: boolean
  readonly id: string
  /** What is wrong with the value. */
  readonly problem?: string | undefined
  /** Values that a text may have. */
  readonly suggestions?: ReadonlyArray<string> | undefined
}

/** The id of a control, and its problem for screen readers. */
const controlAttributes = ({ id, problem }: Pick<FieldProps, "id" | "problem">) =>
  problem === undefined ? { id } : { id, "aria-invalid": true, "aria-describedby": `${id}-problem` }

type FieldOf<Tag extends FormField["_tag"]> = Extract<FormField, { readonly _tag: Tag }>

/** The length of a value in a list of choices. */
const maxChoiceLength = 100

const formatChoice = (value: unknown, label: string | undefined): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return visibleLine(truncate(label === undefined || label === text ? text : `${label} (${text})`, maxChoiceLength))
}

const isLongText = (text: string): boolean => text.includes("\n") || text.length > 80

const TextField = ({ draft, field, onChange, required, suggestions, ...rest }: FieldProps<FieldOf<"Text">>) => {
  const attributes = controlAttributes(rest)
  const text = draft._tag === "Text" ? draft.text : ""
  const onInput = ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
    onChange(value === "" && !required ? absent : { _tag: "Text", text: value })
  if (field.isSecret === true) {
    return <input {...attributes} value={text} autocomplete="off" type="password" onInput={onInput} />
  }
  if (isLongText(text)) return <textarea {...attributes} value={text} rows={6} onInput={onInput} />
  return (
    <>
      <input
        {...attributes}
        type="text"
        value={text}
        placeholder={field.format ?? ""}
        {...(suggestions !== undefined && { list: `${rest.id}-values` })}
        onInput={onInput}
      />
      {suggestions !== undefined && (
        <datalist id={`${rest.id}-values`}>
          {suggestions.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
    </>
  )
}

const NumberField = ({ draft, field, onChange, required, ...rest }: FieldProps<FieldOf<"Number">>) => (
  <input
    {...controlAttributes(rest)}
    type="text"
    inputMode={field.integer ? "numeric" : "decimal"}
    value={draft._tag === "Text" ? draft.text : ""}
    placeholder={
      [field.min, field.max].some((bound) => bound !== undefined) ? `${field.min ?? ""}…${field.max ?? ""}` : ""
    }
    onInput={({ currentTarget: { value } }) =>
      onChange(value === "" && !required ? absent : { _tag: "Text", text: value })
    }
  />
)

interface OptionFieldProps extends Pick<FieldProps, "onChange" | "required"> {
  readonly options: ReadonlyArray<string>
  /** The index of the chosen option. */
  readonly chosen: number | undefined
  readonly draftOf: (index: number) => Draft
  readonly attributes: { readonly [name: string]: string | boolean }
}

/** A choice among options. What is optional, or not chosen yet, may have no value. */
const OptionField = ({ attributes, chosen, draftOf, onChange, options, required }: OptionFieldProps) => (
  <Select
    attributes={attributes}
    value={chosen ?? ""}
    options={[
      ...(!required || chosen === undefined ? [["", "not set"] as const] : []),
      ...options.map((label, index) => [index, label] as const)
    ]}
    onSelect={(value) => onChange(value === "" ? absent : draftOf(Number(value)))}
  />
)

const FlagField = ({ draft, onChange, required, ...rest }: FieldProps<FieldOf<"Flag">>) => (
  <OptionField
    attributes={controlAttributes(rest)}
    options={["true", "false"]}
    chosen={draft._tag === "Flag" ? Number(!draft.value) : undefined}
    draftOf={(index) => ({ _tag: "Flag", value: index === 0 })}
    onChange={onChange}
    required={required}
  />
)

const ChoiceField = ({ draft, field, onChange, required, ...rest }: FieldProps<FieldOf<"Choice">>) => (
  <OptionField
    attributes={controlAttributes(rest)}
    options={field.values.map((value, index) => formatChoice(value, field.labels?.[index]))}
    chosen={draft._tag === "Choice" ? draft.index : undefined}
    draftOf={(index) => ({ _tag: "Choice", index })}
    onChange={onChange}
    required={required}
  />
)

const JsonField = ({ draft, onChange, required, ...rest }: FieldProps) => (
  <textarea
    {...controlAttributes(rest)}
    class="code"
    rows={4}
    spellcheck={false}
    placeholder="JSON"
    value={draft._tag === "Json" ? draft.text : ""}
    onInput={({ currentTarget: { value } }) =>
      onChange(value === "" && !required ? absent : { _tag: "Json", text: value })
    }
  />
)

const ListField = ({ draft, field, label, onChange }: FieldProps<FieldOf<"List">>) => {
  const items = draft._tag === "List" ? draft.items : []
  const change = (next: ReadonlyArray<Draft>) => onChange({ _tag: "List", items: next })
  return (
    <div class="nested">
      {items.map((item, index) => (
        <div key={index} class="list-item">
          <Field
            field={field.item}
            draft={item}
            label={`${label} ${index + 1}`}
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

const VariantsField = ({ draft, field, id, label, onChange, required }: FieldProps<FieldOf<"Variants">>) => {
  const index = draft._tag === "Variant" ? draft.index : -1
  const chosen = field.variants[index]
  return (
    <div class="nested">
      <OptionField
        attributes={{ id, "aria-label": visibleLine(`Kind of ${label}`) }}
        options={field.variants.map(({ _tag, title }, at) => visibleLine(title ?? `${at + 1}: ${variantNames[_tag]}`))}
        chosen={draft._tag === "Variant" ? draft.index : undefined}
        draftOf={(at) => {
          const variant = field.variants[at]
          return variant === undefined ? absent : { _tag: "Variant", index: at, draft: initialDraft(variant) }
        }}
        onChange={onChange}
        required={required}
      />
      {chosen !== undefined && draft._tag === "Variant" && (
        <Field
          key={index}
          field={chosen}
          draft={draft.draft}
          label={label}
          required
          isInner
          onChange={(inner) => onChange({ _tag: "Variant", index, draft: inner })}
        />
      )}
    </div>
  )
}

const variantNames: { readonly [Tag in FormField["_tag"]]: string } = {
  Text: "text",
  Number: "number",
  Flag: "true or false",
  Choice: "a fixed value",
  Group: "object",
  List: "list",
  Variants: "one of several",
  Json: "JSON"
}

interface GroupFieldsProps extends Pick<FieldProps<FieldOf<"Group">>, "draft" | "field" | "onChange"> {
  /** What is wrong with the members, by their names. */
  readonly problems?: ReadonlyMap<string, string>
  /** Values that the texts may have, by the names of their members. */
  readonly suggestions?: ReadonlyMap<string, ReadonlyArray<string>>
  /** A member gets the focus. */
  readonly onFocus?: (name: string) => void
}

/** The members of a group. */
export const GroupFields = ({ draft, field, onChange, onFocus, problems, suggestions }: GroupFieldsProps) => {
  const members: ReadonlyMap<string, Draft> = draft._tag === "Group" ? draft.members : new Map()
  const known = new Set(field.members.map(({ name }) => name))
  const others = [...members].filter(([name]) => !known.has(name))
  const change = (name: string, changed: Draft) =>
    onChange({ _tag: "Group", members: new Map(members).set(name, changed) })
  return (
    <>
      {field.members.map((member) => (
        <Field
          key={member.name}
          field={member.field}
          draft={members.get(member.name) ?? absent}
          label={member.name}
          required={member.required}
          problem={problems?.get(member.name)}
          suggestions={suggestions?.get(member.name)}
          onFocus={onFocus}
          onChange={(changed) => change(member.name, changed)}
        />
      ))}
      {others.map(([name, other]) => (
        <Field
          key={`other ${name}`}
          field={{ _tag: "Json" }}
          draft={other}
          label={name}
          required={false}
          onChange={(changed) => change(name, changed)}
        />
      ))}
    </>
  )
}

const Control = (props: FieldProps) => {
  const { field } = props
  if (props.draft._tag === "Json") return <JsonField {...props} />
  switch (field._tag) {
    case "Text":
      return <TextField {...props} field={field} />
    case "Number":
      return <NumberField {...props} field={field} />
    case "Flag":
      return <FlagField {...props} field={field} />
    case "Choice":
      return <ChoiceField {...props} field={field} />
    case "Json":
      return <JsonField {...props} />
    case "List":
      return <ListField {...props} field={field} />
    case "Variants":
      return <VariantsField {...props} field={field} />
    case "Group":
      return (
        <div class="nested">
          <GroupFields field={field} draft={props.draft} onChange={props.onChange} />
        </div>
      )
  }
}

/** Fields that consist of other fields, and are a group for screen readers. */
const isComposite = ({ _tag }: FormField): boolean => _tag === "Group" || _tag === "List" || _tag === "Variants"

interface LabelledFieldProps extends Omit<FieldProps, "id"> {
  /** The field stands inside another one with the same label. */
  readonly isInner?: boolean
  readonly onFocus?: ((label: string) => void) | undefined
}

/** A field with its label and its description. An optional composite field is added by a button. */
const Field = ({ isInner = false, onFocus, ...props }: LabelledFieldProps) => {
  const id = useId()
  const { draft, field, label, onChange, problem, required } = props
  const shownProblem = problem !== undefined && (
    <p id={`${id}-problem`} class="error">
      <Name of={problem} length={1_000} />
    </p>
  )
  const title = (
    <>
      <Name of={label} />
      {field.title !== undefined && field.title !== label && (
        <span class="note">
          {" "}
          <Name of={field.title} />
        </span>
      )}
      {required ? " *" : ""}
    </>
  )
  const description = field.description !== undefined && <LongText text={field.description} />
  if (isComposite(field) && draft._tag !== "Json") {
    if (isInner && draft._tag !== "Absent") return <Control {...props} id={id} />
    return (
      <fieldset>
        <legend>{title}</legend>
        {description}
        {shownProblem}
        {draft._tag === "Absent" ? (
          <SmallButton description={`Add ${label}`} onPress={() => onChange(initialDraft(field))}>
            Add
          </SmallButton>
        ) : (
          <>
            <Control {...props} id={id} />
            {!required && (
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
      <label for={id}>{title}</label>
      <Control {...props} id={id} />
      {shownProblem}
      {description}
    </div>
  )
}
