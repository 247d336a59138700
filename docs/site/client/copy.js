// The button on a block of code.
document.addEventListener('click', async (event) => {
  const button = event.target.closest?.('button.copy')
  if (!button) return
  await navigator.clipboard.writeText(button.parentElement.querySelector('code').innerText)
  button.classList.add('copied')
  setTimeout(() => button.classList.remove('copied'), 2000)
})
