# The stack pointer, which C++ cannot name; and where the kernel module says that it is.
	.globaltype	__stack_pointer, i32
	.globaltype	simulator_site, i32
	.globl	simulator_site
simulator_site:

	.functype	simulator_fiber_body (i32) -> ()

	.globl	stack_pointer
stack_pointer:
	.functype	stack_pointer () -> (i32)
	global.get	__stack_pointer
	end_function

	.globl	set_stack_pointer
set_stack_pointer:
	.functype	set_stack_pointer (i32) -> ()
	local.get	0
	global.set	__stack_pointer
	end_function

	.globl	simulator_place
simulator_place:
	.functype	simulator_place () -> (i32)
	global.get	simulator_site
	end_function

# A fiber begins here: the fiber, and the end of its stack.
	.globl	simulator_fiber_start
simulator_fiber_start:
	.functype	simulator_fiber_start (i32, i32) -> ()
	local.get	1
	global.set	__stack_pointer
	local.get	0
	call	simulator_fiber_body
	end_function
	.export_name	simulator_fiber_start, simulator_fiber_start

# The one tag that all modules throw and catch by.
	.globl	__cpp_exception
	.tagtype	__cpp_exception i32
__cpp_exception:
