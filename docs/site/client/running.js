// The file and the line of which a figure says that it runs in its recording; the step's code marks it, too.
import { shallowRef } from 'vue'

export const running = shallowRef({})
