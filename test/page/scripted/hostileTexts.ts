/** Texts that attack a page, and the check that they had no effect. */
export const attack = "globalThis.isAttacked = true"

/** HTML, scripts, links, bidi controls, invisible characters and terminal sequences, each behind the name of its field. */
export const hostile = (field: string): string =>
  `${field} <img src=x onerror="${attack}">` +
  `\u202Ereversed\u202C \u2066isolated\u2069 zero\u200Bwidth \u001B[31mred\u001B[0m \u001B]0;title\u0007\u009B2J ` +
  `<script>${attack}</script><svg/onload=${attack}><iframe srcdoc="x"></iframe>{{x}} \${x}` +
  `<a href="javascript:${attack}">a</a> [m](javascript:${attack}) <javascript:${attack}> ![i](https://evil.example/i.png)`

/** Elements of markup, links with other schemes except to save files, and raw control characters in texts and in visible attributes. */
export const findInjections = `(() => {
  const elements = [...document.querySelectorAll("body *")]
  const attributes = elements.flatMap((element) => [...element.attributes])
  const controls = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200b\\u202a-\\u202e\\u2066-\\u2069]/
  const texts = [
    ...elements.flatMap(({ childNodes }) => [...childNodes]).flatMap(({ data }) => data ?? []),
    ...attributes.filter(({ name }) => name !== "href" && name !== "value").map(({ value }) => value),
    document.querySelector("#json-arguments")?.value ?? ""
  ]
  const saved = /^data:(?:application\\/octet-stream|image\\/(?:png|jpeg|gif|webp|avif));base64,/
  const links = [...document.links].filter(
    ({ download, host, href }) => host !== location.host && !(download !== "" && saved.test(href)))
  return [
    ...elements.map(({ tagName }) => tagName).filter((name) => /^(?:script|iframe|object|embed)$/i.test(name)),
    ...[...document.images].map(({ src }) => src),
    ...links.filter(({ href, rel }) => !/^https?:/.test(href) || rel !== "noreferrer noopener").map(({ href }) => href),
    ...attributes.map(({ name }) => name).filter((name) => name.startsWith("on")),
    ...texts.filter((text) => controls.test(text)).map((text) => "control in " + text.slice(0, 60)),
    ...(globalThis.isAttacked === undefined ? [] : ["a script ran"])
  ]
})()`
