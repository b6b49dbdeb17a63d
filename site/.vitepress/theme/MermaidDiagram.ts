import { useData } from "vitepress"
import { defineComponent, h, onMounted, ref, useId, watch } from "vue"

/** Draws a diagram in the browser, again when the theme changes. Shows its source before, and without scripts. */
export const MermaidDiagram = defineComponent({
  props: { name: { type: String, required: true }, source: { type: String, required: true } },
  setup: ({ name, source }) => {
    const { isDark } = useData()
    const id = `diagram-${useId()}`
    const text = decodeURIComponent(source)
    const drawn = ref({ svg: "", theme: "" })
    const draw = async () => {
      const theme = isDark.value ? "dark" : "default"
      const { default: mermaid } = await import("mermaid")
      // The background that the dark theme has for labels of edges gives too little contrast.
      const themeVariables = isDark.value ? { edgeLabelBackground: "#303030" } : {}
      mermaid.initialize({
        startOnLoad: false,
        securityLevel: "strict",
        suppressErrorRendering: true,
        theme,
        themeVariables
      })
      drawn.value = { svg: (await mermaid.render(id, text)).svg, theme }
    }
    onMounted(draw)
    watch(isDark, draw)
    return () => {
      const { svg, theme } = drawn.value
      const label = { role: "img", "aria-label": `Diagram: ${name}` }
      return svg === ""
        ? h("pre", { class: "diagram" }, text)
        : h("div", { class: "diagram", "data-theme": theme, ...label, innerHTML: svg })
    }
  }
})
