import { renderMermaidSVG } from "beautiful-mermaid"

/** Diagrams shrink to this part of their size before their box scrolls: the text stays readable. */
const smallestScale = 0.75

let count = 0

/**
 * Draws a Mermaid diagram as an SVG for both themes: its colours are variables of the style sheet, which also has the font, so
 * the diagram loads nothing. Fails for a diagram that cannot be drawn.
 */
export const drawDiagram = (source: string): string => {
  const svg = renderMermaidSVG(source.trim(), { transparent: true, padding: 4, layerSpacing: 32 })
  const [, width = "0"] = /\bwidth="([\d.]+)"/.exec(svg) ?? []
  const prefix = `diagram${count++}-`
  const size = `max-width:${Math.ceil(Number(width))}px;min-width:${Math.ceil(Number(width) * smallestScale)}px`
  return (
    svg
      .replaceAll(/<style>.*?<\/style>/gs, "")
      // The lines of a chart have no names in Mermaid: a legend would invent them.
      .replaceAll(/<line [^>]*class="xychart-legend-line[^>]*>\s*<text[^>]*>[^<]*<\/text>/g, "")
      .replace(/(<svg[^>]*?) width="[^"]*" height="[^"]*" style="[^"]*"/, `$1 style="${size}"`)
      .replaceAll(/\bid="([^"]*)"/g, `id="${prefix}$1"`)
      .replaceAll(/url\(#([^)]*)\)/g, `url(#${prefix}$1)`)
      .replaceAll(/\n\s*/g, "\n")
  )
}
