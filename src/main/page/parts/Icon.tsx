/** The shapes of the icons, drawn with lines in a square of 16. */
const shapes = {
  mark: "M4.5 8h3.2M8.3 7.4l2.6-3M8.3 8.6l2.6 3M4.5 8a1.7 1.7 0 1 1-3.4 0a1.7 1.7 0 0 1 3.4 0M14.6 3.2a1.9 1.9 0 1 1-3.8 0a1.9 1.9 0 0 1 3.8 0M14.6 12.8a1.9 1.9 0 1 1-3.8 0a1.9 1.9 0 0 1 3.8 0",
  agent: "M8 1.8l1.7 4.5l4.5 1.7l-4.5 1.7l-1.7 4.5l-1.7-4.5l-4.5-1.7l4.5-1.7z",
  relay: "M10 8a2 2 0 1 1-4 0a2 2 0 0 1 4 0M8 6V1.5M8 10v4.5M6 8H1.5M10 8h4.5",
  computer: "M1.8 2.8h12.4v8H1.8zM5.5 14h5M8 10.8V14",
  server: "M5 1.8v3.4M11 1.8v3.4M3.4 5.2h9.2v2.3a4.6 4.6 0 0 1-9.2 0zM8 12.1v2.4",
  device: "M4 4h8v8H4zM6.3 4V1.8M9.7 4V1.8M6.3 14.2V12M9.7 14.2V12M4 6.3H1.8M4 9.7H1.8M14.2 6.3H12M14.2 9.7H12",
  pack: "M2 4.8l6-3l6 3v6.4l-6 3l-6-3zM2 4.8l6 3l6-3M8 7.8v6.4",
  several: "M2 3h12M2 8h12M2 13h12",
  tool: "M13.8 4.4a3.6 3.6 0 0 1-4.9 4.4l-5 5a1.3 1.3 0 0 1-1.8-1.8l5-5a3.6 3.6 0 0 1 4.5-4.8l-2.2 2.3l.3 1.6l1.6.4z",
  bell: "M8 1.8a4 4 0 0 0-4 4v3.1l-1.4 2.4h10.8L12 8.9V5.8a4 4 0 0 0-4-4M6.4 13.6a1.7 1.7 0 0 0 3.2 0"
}

/** A sign beside a word, which says the same. */
export const Icon = ({ of }: { readonly of: keyof typeof shapes }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={shapes[of]} />
  </svg>
)
