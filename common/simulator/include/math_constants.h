// Constants for device code (CUDA Math API). The values are the correctly rounded ones.
#pragma once

#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_MIN_DENORM_F 0x1p-149f
#define CUDART_MAX_NORMAL_F 0x1.fffffep+127f
#define CUDART_NEG_ZERO_F (-0.0f)
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_SQRT_HALF_F 0x1.6a09e6p-1f
#define CUDART_SQRT_TWO_F 0x1.6a09e6p+0f
#define CUDART_PI_F 0x1.921fb6p+1f
#define CUDART_PIO2_F 0x1.921fb6p+0f
#define CUDART_L2E_F 0x1.715476p+0f
#define CUDART_LN2_F 0x1.62e43p-1f

#define CUDART_INF __builtin_inf()
#define CUDART_NAN __builtin_nan("")
#define CUDART_SQRT_TWO 0x1.6a09e667f3bcdp+0
#define CUDART_PI 0x1.921fb54442d18p+1
#define CUDART_LN2 0x1.62e42fefa39efp-1
