import { defineConfig, type DefaultTheme } from "vitepress"
import { configureMarkdown, writeMarkdown } from "../markdown.ts"
import { chineseNavigation, type Group, navigation, otherDocuments, pages, repository, slugify } from "../pages.ts"

/** The path of the site on its host; GitHub Pages takes the name of the repository. */
const base = "/a2c-smcp/"

const sidebarOf = (groups: ReadonlyArray<Group>): Array<DefaultTheme.SidebarItem> =>
  groups.map(({ items, text }) => ({
    text,
    items: items.map((item) => ({ text: item.text, link: `/${pages.get(item.file)}` }))
  }))

/** The words of a text, also in scripts without spaces. Runs in the browser: it must use nothing of this file. */
const tokenize = (text: string): Array<string> =>
  [...new Intl.Segmenter("zh", { granularity: "word" }).segment(text)].flatMap(({ isWordLike, segment }) =>
    isWordLike === true ? [segment, ...(segment.includes("_") ? segment.split("_") : [])] : []
  )

const chinese = {
  zh: {
    label: "简体中文",
    lang: "zh-CN",
    themeConfig: {
      sidebar: sidebarOf([...chineseNavigation, ...navigation.filter(({ text }) => text === "Reference")])
    }
  }
}

export default defineConfig({
  base,
  title: "a2c-smcp",
  description: "Use the tools of many machines from one agent",
  srcDir: "..",
  srcExclude: ["!(docs|bench)/**/*.md", ...otherDocuments],
  outDir: "../node_modules/.cache/site",
  cacheDir: "../node_modules/.cache/vitepress",
  rewrites: (id) => pages.get(id) ?? id,
  locales: { root: { label: "English", lang: "en" }, ...(chineseNavigation.length > 0 && chinese) },
  markdown: {
    config: configureMarkdown,
    anchor: { slugify },
    attrs: { disable: true },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" }
  },
  vite: { build: { chunkSizeWarningLimit: 4096 }, esbuild: { tsconfigRaw: {} } },
  themeConfig: {
    nav: [
      { text: "Reference", link: "/reference/commands.md" },
      { text: "Changelog", link: "/changelog.md" }
    ],
    sidebar: sidebarOf(navigation),
    // Not every page has a translation: the menu of languages leads to the first page of a language.
    i18nRouting: false,
    outline: [2, 3],
    search: { provider: "local", options: { miniSearch: { options: { tokenize } } } },
    socialLinks: [{ icon: "github", link: repository }]
  },
  transformHead: ({ pageData: { isNotFound, relativePath } }) =>
    isNotFound === true ? [] : [["link", { rel: "alternate", type: "text/markdown", href: `${base}${relativePath}` }]],
  buildEnd: ({ outDir }) => writeMarkdown(outDir, base)
})
