// The list of pages on a narrow screen.
const button = document.querySelector('.menu-button')
const menu = document.getElementById('menu')

function set(open) {
  menu.classList.toggle('open', open)
  button.setAttribute('aria-expanded', String(open))
}

button.addEventListener('click', () => set(!menu.classList.contains('open')))
menu.addEventListener('click', (event) => event.target.closest('a') && set(false))
addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !menu.classList.contains('open')) return
  set(false)
  button.focus()
})
// On a wide screen: the page's own place in a long list.
const current = menu.querySelector('[aria-current]')
if (current && current.offsetTop > menu.clientHeight / 2) menu.scrollTop = current.offsetTop - 80
