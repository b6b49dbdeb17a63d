/** Control sequences of terminals: colours and cursor movements, titles and links, and the short ones. */
const controlSequences = new RegExp(
  [
    String.raw`(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]`,
    String.raw`(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)`,
    String.raw`\u001b[ -/]*[0-Z\\-~]`
  ].join("|"),
  "g"
)

/** Removes the control sequences of terminals. Incomplete ones remain, and are shown as escapes. */
export const stripAnsi = (text: string): string => text.replaceAll(controlSequences, "")

/**
 * Characters that move the cursor, change colours, reorder or hide text, or end a line. Emoji keep their joiners and
 * variation selectors, which show nothing by themselves.
 */
const unsafeCharacters = new RegExp(
  [
    String.raw`[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\u{200d}\u{fe0e}\u{fe0f}]]`,
    String.raw`(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\u{fe0f}])\u{200d}`,
    String.raw`\u{200d}(?!\p{Extended_Pictographic})`,
    String.raw`(?<!\p{Extended_Pictographic}|[\d#*](?=.\u{20e3}))[\u{fe0e}\u{fe0f}]`
  ].join("|"),
  "gv"
)

const jsonEscapes: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** Escapes a character as JSON does: in JSON text, the result is JSON with the same meaning. */
const escapeCharacter = (character: string): string =>
  jsonEscapes[character] ??
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
  ).join("")

/** Escapes the characters of a foreign text that a terminal would interpret or hide. The result is one line. */
export const escapeForTerminal = (text: string): string => text.replaceAll(unsafeCharacters, escapeCharacter)

/** As {@link escapeForTerminal}, for a text of several lines: keeps line breaks and tabs. */
export const escapeLinesForTerminal = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replaceAll(unsafeCharacters, (character) =>
      character === "\n" || character === "\t" ? character : escapeCharacter(character)
    )
