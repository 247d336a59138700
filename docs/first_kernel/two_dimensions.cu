// A grid of two dimensions: a thread for each element of a multiplication table, 20 rows of 70.
#include <cstdio>
#include <cstdlib>
#include <vector>

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

__global__ void multiply(int rows, int cols, int* table) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && col < cols) table[row * cols + col] = row * col;
}

int main() {
  const int rows = 20, cols = 70;
  std::vector<int> table(rows * cols);
  int* device_table;
  check(cudaMalloc(&device_table, table.size() * sizeof(int)));

  const dim3 block(32, 8);  // x first: 32 threads wide, 8 high
  const dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
  multiply<<<grid, block>>>(rows, cols, device_table);
  check(cudaGetLastError());

  check(cudaMemcpy(table.data(), device_table, table.size() * sizeof(int), cudaMemcpyDeviceToHost));
  check(cudaFree(device_table));

  int wrong = 0;
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) wrong += table[row * cols + col] != row * col;
  std::printf("%u × %u blocks of %u × %u threads; table[11][69] = %d; %d are wrong\n", grid.x,
              grid.y, block.x, block.y, table[11 * cols + 69], wrong);
  return wrong > 0;
}
