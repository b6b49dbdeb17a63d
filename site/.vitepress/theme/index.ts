import type { Theme } from "vitepress"
import DefaultTheme from "vitepress/theme-without-fonts"
import { MermaidDiagram } from "./MermaidDiagram.ts"
import "./style.css"

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => void app.component("MermaidDiagram", MermaidDiagram)
} satisfies Theme
