// Light or dark: as the system says, until the reader chooses. VitePress's script in the page's head sets the class
// before anything is drawn, from the same key.
const KEY = 'vitepress-theme-appearance'
const control = document.querySelector('.dark-switch')
const root = document.documentElement

const show = () => control.setAttribute('aria-checked', String(root.classList.contains('dark')))

control.addEventListener('click', () => {
  const dark = root.classList.toggle('dark')
  const system = matchMedia('(prefers-color-scheme: dark)').matches
  localStorage.setItem(KEY, dark === system ? 'auto' : dark ? 'dark' : 'light')
  show()
})
show()
